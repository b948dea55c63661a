import { recordTopic, TIMER_TOPIC } from '../../../model/message/index.ts'
import type { TimerRef } from '../../timer/index.ts'
import { wasCancelled } from './cancelled-before.ts'
import { isOf, type OwnHandle } from './own-handle.ts'
import type { ScheduledStore, ScheduledTimers } from './scheduled-parts.ts'
import type { Found, Refusal, Target } from './target.ts'

/** A message by the handle that its send was answered with. */
export class IdTarget implements Target {
  readonly #handle: OwnHandle
  readonly #timers: Pick<ScheduledTimers, 'movedTo'>
  readonly #store: Pick<ScheduledStore, 'readRecord' | 'queue'>

  constructor(
    handle: OwnHandle,
    timers: Pick<ScheduledTimers, 'movedTo'>,
    store: Pick<ScheduledStore, 'readRecord' | 'queue'>,
  ) {
    this.#handle = handle
    this.#timers = timers
    this.#store = store
  }

  async locate(): Promise<TimerRef> {
    return (await this.#timers.movedTo(this.#handle.timerId)) ?? this.#handle
  }

  isMeant(record: Buffer): boolean {
    return isOf(this.#handle, record)
  }

  /** Where it was, it is not found once it was moved. */
  isCurrent(): boolean {
    return true
  }

  async hasMoved(from: TimerRef): Promise<boolean> {
    const now = await this.#timers.movedTo(this.#handle.timerId)
    return now !== undefined && now.timerId !== from.timerId
  }

  /** What the log has of it shows whether the handle is its own. */
  async resultOf(found: Found, at: TimerRef): Promise<Refusal> {
    const record = await this.#store.readRecord(this.#handle.timerId)
    const isOwn =
      record !== undefined && recordTopic(record, 0) === TIMER_TOPIC && this.isMeant(record)
    if (record !== undefined && !isOwn) return 'unknown'
    if (found === 'cancelling') return 'cancelled'
    if (found !== 'absent') return found
    if (record === undefined) return 'unknown'
    const { timerId } = at
    return (await wasCancelled(this.#store, { timerId, record })) ? 'cancelled' : 'too-late'
  }
}
