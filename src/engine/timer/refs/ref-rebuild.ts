import { operatingError } from '../../../core/base/index.ts'
import type { Platform, Timer } from '../../../core/platform/index.ts'
import { hasProperty, recordProperties } from '../../../model/message/index.ts'
import type { ListPosition } from '../ladder/list/list-order.ts'
import type { ListStep, WaitingQuery } from '../ladder/list/waiting-list.ts'
import type { RefIndex } from './ref-index.ts'

/** Messages found in one step of the list: each is in memory whole. */
const STEP_COUNT = 64
const FAILED_PAUSE_MS = 1_000

/** See `WaitingList.step`. */
export type WaitingSteps = (
  query: WaitingQuery,
  after: ListPosition | undefined,
  countMax: number,
) => Promise<ListStep>

/** By what the index leads to a message. */
export interface RefSource<Key> {
  /** Whoever has it is in the index. */
  readonly property: string
  /** From the message's properties. */
  readonly keyOf: (properties: string) => Key
}

/** Fills an index that was lost, from all messages that wait, while other work goes on. */
export class RefRebuild<Key> {
  readonly #platform: Platform
  readonly #index: RefIndex<Key>
  readonly #source: RefSource<Key>
  readonly #list: WaitingSteps
  #timer: Timer | undefined
  #isStopped = false

  constructor(parts: {
    platform: Platform
    index: RefIndex<Key>
    source: RefSource<Key>
    list: WaitingSteps
  }) {
    this.#platform = parts.platform
    this.#index = parts.index
    this.#source = parts.source
    this.#list = parts.list
  }

  start(): void {
    if (this.#index.needsRebuild) void this.#run()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    const { log, timers } = this.#platform
    const { words } = this.#index
    try {
      // Again at the end: what was about to be delivered at first may have been refused since.
      const count = (await this.#addAll(undefined)) + (await this.#addAll(true))
      if (this.#isOver()) return
      this.#index.rebuilt()
      log.warn(`the index of ${words} is made again`, { count })
    } catch (error) {
      const reason = operatingError(error)
      if (this.#isOver()) return
      log.error(`the index of ${words} could not be made again; it is tried again`, reason)
      this.#timer = timers.after(FAILED_PAUSE_MS, () => void this.#run())
    }
  }

  /** Also when the map takes nothing any more: the index has said so. */
  #isOver(): boolean {
    return this.#isStopped || !this.#index.needsRebuild
  }

  async #addAll(isParked: true | undefined): Promise<number> {
    const { property, keyOf } = this.#source
    const query: WaitingQuery = {
      fromMs: 0,
      toMs: Number.MAX_SAFE_INTEGER,
      isParked,
      matches: (source, position) => hasProperty(recordProperties(source, position), property),
    }
    let count = 0
    let position: ListPosition | undefined
    do {
      const step = await this.#list(query, position, STEP_COUNT)
      for (const { record, timerId, deliverTimeMs } of step.messages) {
        if (this.#isOver()) return count
        await this.#index.add(keyOf(recordProperties(record, 0)), { timerId, deliverTimeMs })
        count++
      }
      await this.#index.whenRoom()
      position = step.next
    } while (position !== undefined && !this.#isOver())
    return count
  }
}
