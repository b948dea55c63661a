import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Door, OutgoingMessage } from './door.ts'
import { bodyOf, type Entry, KINDS, type Ledger, topicOf } from './ledger.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Sends of a burst that are under way at the same time. */
const BURST_SENDER_COUNT = 64
const BURST_MAX = 8
const PAUSE_MS_MAX = 20
const TIMER_DELAY_MS_MAX = 8000
const FILL_BYTES_MAX = 3000
/** A request that waits for longer than this has failed. */
const LATER_MS = 30_000
/** Delays of the levels 1 to 3, as RocketMQ has them. */
const LEVEL_DELAYS_MS = [1000, 5000, 10_000] as const

/** A message that waits, by which it can be cancelled or moved. */
export interface Waiting {
  readonly entry: Entry
  readonly handle: string
}

export interface LoadParts {
  readonly door: Door
  readonly ledger: Ledger
  readonly random: SeededRandom
  /** Refusals and broken sends are counted here by their text. */
  readonly refusals: Map<string, number>
}

/** Sends of all kinds until it is stopped or the broker goes away. */
export class Load {
  readonly #door: Door
  readonly #ledger: Ledger
  readonly #random: SeededRandom
  readonly #senders: Promise<void>
  readonly #stop = new AbortController()
  readonly #refusals: Map<string, number>

  constructor(parts: LoadParts, senderCount: number) {
    this.#door = parts.door
    this.#ledger = parts.ledger
    this.#random = parts.random
    this.#refusals = parts.refusals
    // Every change that waits for its moment listens.
    setMaxListeners(0, this.#stop.signal)
    this.#senders = Promise.all(Array.from({ length: senderCount }, () => this.#sendOn())).then(
      () => undefined,
    )
  }

  /** The broker is dead: no more sends. Resolves when every sender has seen that. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#senders
  }

  /** Sends timer messages as fast as the broker takes them; those that it accepted. */
  async burst(
    count: number,
    make: (random: SeededRandom) => { readonly dueMs: number; readonly fillBytes: number },
  ): Promise<readonly Waiting[]> {
    const waiting: Waiting[] = []
    let rest = count
    const sendOn = async (): Promise<void> => {
      while (rest-- > 0 && !this.#stop.signal.aborted) {
        const { dueMs, fillBytes } = make(this.#random)
        const entry = this.#ledger.add('timer', dueMs)
        const body = bodyOf(entry.id, fillBytes)
        const message = { topic: topicOf('timer'), body, deliverTimeMs: dueMs }
        const handle = await this.#attempt(entry, message)
        if (handle !== undefined) waiting.push({ entry, handle })
      }
    }
    await Promise.all(Array.from({ length: BURST_SENDER_COUNT }, sendOn))
    return waiting
  }

  /**
   * Cancels and moves messages, many at the same time. Calls `kill` when `answeredCount` are
   * answered and resolves to how many others were under way; 0 when that never came.
   */
  async storm(
    waiting: readonly Waiting[],
    strike: { readonly answeredCount: number; readonly kill: () => void },
  ): Promise<number> {
    const rest = [...waiting]
    let openCount = 0
    let answeredCount = 0
    let openAtStrike = 0
    const changeOn = async (): Promise<void> => {
      for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
        openCount++
        const isCancel = this.#random.between(1, 3) > 1
        await (isCancel ? this.#cancel(next) : this.#move(next))
        openCount--
        if (++answeredCount !== strike.answeredCount) continue
        openAtStrike = openCount
        strike.kill()
      }
    }
    const changing = Array.from({ length: BURST_SENDER_COUNT }, changeOn)
    // What the broker was killed under is never answered.
    await Promise.allSettled(changing)
    return openAtStrike
  }

  async #sendOn(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const count = this.#random.between(1, BURST_MAX)
      const results = await Promise.all(Array.from({ length: count }, () => this.#sendOne()))
      // After a broken send the broker is most likely gone; do not fill the ledger with failures.
      const pauseMs = results.includes(false) ? 100 : this.#random.between(0, PAUSE_MS_MAX)
      await sleep(pauseMs)
    }
  }

  async #sendOne(): Promise<boolean> {
    const { entry, message } = this.#nextMessage()
    const handle = await this.#attempt(entry, message)
    if (handle !== undefined) this.#changeLater({ entry, handle })
    return entry.acknowledged
  }

  async #attempt(entry: Entry, message: OutgoingMessage): Promise<string | undefined> {
    try {
      const handle = await this.#door.send(message)
      entry.acknowledged = true
      return handle
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      this.#refusals.set(text, (this.#refusals.get(text) ?? 0) + 1)
      return undefined
    }
  }

  /** Some messages that wait are cancelled or moved before their time, or about then. */
  #changeLater(waiting: Waiting): void {
    const random = this.#random
    const change = random.pick(['none', 'none', 'cancel', 'cancel', 'move'] as const)
    if (change === 'none') return
    const waitMs = random.between(0, Math.max(1, waiting.entry.dueMs - Date.now()))
    const work = async (): Promise<void> => {
      await sleep(waitMs, undefined, { signal: this.#stop.signal })
      await (change === 'cancel' ? this.#cancel(waiting) : this.#move(waiting))
    }
    // The broker is dead, or was before it answered: nobody knows what came of it.
    work().catch(() => undefined)
  }

  async #cancel({ entry, handle }: Waiting): Promise<void> {
    entry.cancel = 'asked'
    const isCancelled = await this.#door.cancel(topicOf(entry.kind), handle)
    entry.cancel = isCancelled ? 'done' : 'refused'
  }

  async #move({ entry, handle }: Waiting): Promise<void> {
    const delayMs = this.#random.between(0, TIMER_DELAY_MS_MAX)
    const asked = Date.now() + delayMs
    const before = { dueMs: entry.dueMs, latestMs: entry.latestMs }
    entry.dueMs = Math.min(entry.dueMs, asked)
    // By the clock of the broker, which gets to it a little later.
    entry.latestMs = Math.max(entry.latestMs, asked + LATER_MS)
    const deliverTimeMs = await this.#door.move(handle, delayMs)
    if (deliverTimeMs === undefined) Object.assign(entry, before)
    else Object.assign(entry, { dueMs: deliverTimeMs, latestMs: deliverTimeMs })
  }

  #nextMessage(): { readonly entry: Entry; readonly message: OutgoingMessage } {
    const random = this.#random
    const nowMs = Date.now()
    const kind = random.pick(KINDS)
    // Mostly small, some of several pages.
    const fillBytes = random.between(0, random.pick([40, 400, FILL_BYTES_MAX]))
    const add = (delayMs: number): Entry => this.#ledger.add(kind, nowMs + delayMs)
    const common = (entry: Entry): { readonly topic: string; readonly body: Buffer } => ({
      topic: topicOf(kind),
      body: bodyOf(entry.id, fillBytes),
    })
    switch (kind) {
      case 'plain': {
        const entry = add(0)
        return { entry, message: common(entry) }
      }
      case 'level': {
        const level = random.between(1, LEVEL_DELAYS_MS.length)
        const entry = add(LEVEL_DELAYS_MS[level - 1] ?? 0)
        return { entry, message: { ...common(entry), level } }
      }
      case 'timer': {
        const delayMs = random.between(0, TIMER_DELAY_MS_MAX)
        const entry = add(delayMs)
        const when = random.pick(['delay', 'deliver time'])
        return {
          entry,
          message:
            when === 'delay'
              ? { ...common(entry), delayMs }
              : { ...common(entry), deliverTimeMs: entry.dueMs },
        }
      }
    }
  }
}
