import { expect, test } from 'vitest'
import { RemotingWorld } from '../../../test/support/remoting-world.ts'
import type { QueueRead } from '../store/index.ts'
import { PendingPull, type PullAsker, type PullResult } from './pending-pull.ts'
import { PullService } from './pull.ts'

const READ: QueueRead = { bytes: Buffer.alloc(1), count: 1, nextOffset: 1, removed: false }

/** A client that may go away as soon as it is answered. */
class Client implements PullAsker {
  readonly owner = this
  readonly #onAnswer: () => void
  isGone = false
  answeredCount = 0

  constructor(onAnswer: () => void = () => undefined) {
    this.#onAnswer = onAnswer
  }

  reserve(_bytes: number): boolean {
    return true
  }

  release(_bytes: number): void {
    // Memory is not what this is about.
  }

  answer(_result: PullResult): void {
    this.answeredCount++
    this.#onAnswer()
  }

  fail(error: unknown): void {
    throw error
  }
}

test('a client that goes while it is answered takes no pull of others with it', async () => {
  const { world, store } = await RemotingWorld.open()
  const { clock, timers } = world.platform
  const queue = store.queue('T', 0)
  queue.appendUnit(0, 100, 0)
  const slow = new AbortController()
  let reading: QueueRead | Promise<QueueRead> = new Promise(resolve => {
    slow.signal.addEventListener('abort', () => resolve(READ))
  })
  const service = new PullService({
    source: { readQueue: () => reading, onArrival: () => () => undefined },
    clock,
    timers,
    limits: { readingCountMax: 1, waitingCountMax: 10, parkedCountMax: 10 },
  })
  const leaving = new Client(() => {
    leaving.isGone = true
    service.drop(leaving)
  })
  const staying = new Client()
  for (const asker of [staying, leaving, staying]) {
    service.start(
      new PendingPull({
        asker,
        queue,
        offset: 0,
        countMax: 1,
        bytesMax: 1,
        accepts: undefined,
        deadlineUptimeMs: 0,
      }),
    )
  }
  // What waits its turn is read from memory, at once.
  reading = READ
  slow.abort()
  await world.run(() => staying.answeredCount === 2)
  expect([leaving.answeredCount, staying.answeredCount]).toEqual([1, 2])
})
