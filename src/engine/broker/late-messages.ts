import type { Log, Timers } from '../../core/platform/index.ts'
import {
  appendProperty,
  findProperty,
  PROPERTY,
  type RecordDraft,
  TIMER_DROP_QUEUE,
} from '../../model/message/index.ts'
import { type Origin, timerNote } from './timer-note.ts'

const NOTHING = Buffer.alloc(0)
const REPORT_INTERVAL_MS = 1_000

/**
 * The log record by which a message is dropped that is too late by its own policy: without a body,
 * in a queue of its own of the timers' topic. A start finds the timer id, as in what is published;
 * topic and unique key are for people.
 */
export function dropRecord(accepted: string, timerId: number, origin: Origin): RecordDraft {
  let properties = appendProperty('', PROPERTY.ORRERY_TIMER_ID, String(timerId))
  for (const name of [PROPERTY.REAL_TOPIC, PROPERTY.UNIQ_KEY]) {
    const value = findProperty(accepted, name)
    if (value !== undefined) properties = appendProperty(properties, name, value)
  }
  return timerNote(TIMER_DROP_QUEUE, { properties, body: NOTHING }, origin)
}

/** Says how many messages were too late by their own policy, at most once a second. */
export class LateReport {
  readonly #log: Log
  readonly #timers: Timers
  #droppedCount = 0
  #deadLetterCount = 0
  #isWaiting = false

  constructor(parts: { readonly log: Log; readonly timers: Timers }) {
    this.#log = parts.log
    this.#timers = parts.timers
  }

  count(what: 'drop' | 'deadLetter'): void {
    if (what === 'drop') this.#droppedCount++
    else this.#deadLetterCount++
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#timers.after(REPORT_INTERVAL_MS, () => this.#say())
  }

  #say(): void {
    this.#log.warn('messages were too late by their own policy', {
      droppedCount: this.#droppedCount,
      deadLetterCount: this.#deadLetterCount,
    })
    this.#isWaiting = false
    this.#droppedCount = 0
    this.#deadLetterCount = 0
  }
}
