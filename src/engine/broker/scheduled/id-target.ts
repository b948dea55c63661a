import { recordTopic, TIMER_TOPIC } from '../../../model/message/index.ts'
import type { TimerRef } from '../../timer/index.ts'
import { type LogTrace, wasCancelled } from './cancelled-before.ts'
import { isOf, type OwnHandle } from './own-handle.ts'
import type { ScheduledTimers } from './scheduled-parts.ts'
import type { Found, Refusal, Target } from './target.ts'

/** A message by the handle that its send was answered with. */
export class IdTarget implements Target {
  readonly #handle: OwnHandle
  readonly #timers: Pick<ScheduledTimers, 'movedTo'>
  readonly #log: LogTrace

  constructor(handle: OwnHandle, timers: Pick<ScheduledTimers, 'movedTo'>, log: LogTrace) {
    this.#handle = handle
    this.#timers = timers
    this.#log = log
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
    const record = await this.#log.store.readRecord(this.#handle.timerId)
    const isOwn =
      record !== undefined && recordTopic(record, 0) === TIMER_TOPIC && this.isMeant(record)
    if (record !== undefined && !isOwn) return 'unknown'
    if (found === 'cancelling') return 'cancelled'
    if (found !== 'absent') return found
    if (record === undefined) return 'unknown'
    return (await wasCancelled(this.#log, { at, record })) ? 'cancelled' : 'too-late'
  }
}
