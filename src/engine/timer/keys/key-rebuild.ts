import type { Platform, Timer } from '../../../core/platform/index.ts'
import {
  findProperty,
  hasProperty,
  PROPERTY,
  recordProperties,
} from '../../../model/message/index.ts'
import type { ListPosition } from '../ladder/list/list-order.ts'
import type { ListedMessage, ListStep, WaitingQuery } from '../ladder/list/waiting-list.ts'
import type { KeyIndex } from './key-index.ts'

/** Messages found in one step of the list: each is in memory whole. */
const STEP_COUNT = 64
const FAILED_PAUSE_MS = 1_000
const WITH_KEY: WaitingQuery = {
  fromMs: 0,
  toMs: Number.MAX_SAFE_INTEGER,
  isParked: undefined,
  matches: (source, position) =>
    hasProperty(recordProperties(source, position), PROPERTY.ORRERY_KEY),
}
/** Again at the end: what was about to be delivered at first may have been refused since. */
const PARKED_WITH_KEY: WaitingQuery = { ...WITH_KEY, isParked: true }

/** See `WaitingList.step`. */
export type WaitingSteps = (
  query: WaitingQuery,
  after: ListPosition | undefined,
  countMax: number,
) => Promise<ListStep>

/** Fills an index of own keys that was lost, from all messages that wait, while other work goes on. */
export class KeyRebuild {
  readonly #platform: Platform
  readonly #index: KeyIndex
  readonly #list: WaitingSteps
  #timer: Timer | undefined
  #isStopped = false

  constructor(parts: { platform: Platform; index: KeyIndex; list: WaitingSteps }) {
    this.#platform = parts.platform
    this.#index = parts.index
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
    try {
      const count = (await this.#addAll(WITH_KEY)) + (await this.#addAll(PARKED_WITH_KEY))
      if (this.#isStopped) return
      this.#index.rebuilt()
      log.warn('the index of own keys is made again', { count })
    } catch (error) {
      if (this.#isStopped) return
      log.error('the index of own keys could not be made again; it is tried again', error)
      this.#timer = timers.after(FAILED_PAUSE_MS, () => void this.#run())
    }
  }

  async #addAll(query: WaitingQuery): Promise<number> {
    let count = 0
    let position: ListPosition | undefined
    do {
      const step = await this.#list(query, position, STEP_COUNT)
      for (const message of step.messages) {
        if (this.#isStopped) return count
        await this.#add(message)
        count++
      }
      await this.#index.whenRoom()
      position = step.next
    } while (position !== undefined && !this.#isStopped)
    return count
  }

  async #add({ record, timerId, deliverTimeMs }: ListedMessage): Promise<void> {
    const properties = recordProperties(record, 0)
    const topic = findProperty(properties, PROPERTY.REAL_TOPIC) ?? ''
    const key = findProperty(properties, PROPERTY.ORRERY_KEY) ?? ''
    await this.#index.add(topic, key, { timerId, deliverTimeMs })
  }
}
