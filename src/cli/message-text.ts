import { isUtf8 } from 'node:buffer'
import type { ReceivedMessage } from '../client/index.ts'

/** What `consume` prints of one message: its body, or all of it as one JSON object. */
export function messageText(message: ReceivedMessage, json: boolean): string {
  const { body } = message
  if (!json) return body.toString()
  const content = isUtf8(body) ? { body: body.toString() } : { bodyBase64: body.toString('base64') }
  return JSON.stringify({
    messageId: message.messageId,
    topic: message.topic,
    tag: message.tags,
    keys: message.keys,
    ...content,
    properties: Object.fromEntries(message.properties),
    brokerName: message.brokerName,
    queueId: message.queueId,
    queueOffset: message.queueOffset,
    bornTimeMs: message.bornTimeMs,
    storeTimeMs: message.storeTimeMs,
    reconsumeTimes: message.reconsumeTimes,
  })
}
