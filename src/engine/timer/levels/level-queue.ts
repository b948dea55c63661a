import type { ConsumeQueue } from '../../store/index.ts'

/** One delay level: a queue in which all messages wait equally long, so that it is sorted. */
export class LevelQueue {
  readonly level: number
  readonly queue: ConsumeQueue
  /** Queue offset of the next message to deliver. */
  nextOffset: number
  /** Deliver time of that message; Infinity while none waits; 0 while it is not known. */
  headDueMs = 0
  /** True while its due messages are being delivered. */
  isDelivering = false

  constructor(level: number, queue: ConsumeQueue, nextOffset: number) {
    this.level = level
    this.queue = queue
    this.nextOffset = nextOffset
  }

  get waitingCount(): number {
    return Math.max(0, this.queue.maxOffset - this.nextOffset)
  }
}
