import type { BodyObject } from './body-object.ts'

/** One queue of a topic on one broker, as bodies name it. */
export interface MessageQueue {
  readonly brokerName: string
  readonly queueId: number
  readonly topic: string
}

export function messageQueueFrom(body: BodyObject): MessageQueue {
  return {
    brokerName: body.text('brokerName'),
    queueId: body.int32('queueId'),
    topic: body.text('topic'),
  }
}
