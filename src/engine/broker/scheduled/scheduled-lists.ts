import { BrokerError, Gate } from '../../../core/base/index.ts'
import type { Clock } from '../../../core/platform/index.ts'
import { recordProperties } from '../../../model/message/index.ts'
import {
  asksForProperties,
  checkAskedText,
  type Forecast,
  type ForecastSteps,
  matchesProperties,
  type Page,
  type PageRequest,
  type ScheduledMessage,
  type ScheduleFilter,
} from '../../../model/schedule/index.ts'
import { type ListPosition, type ListStep, Tally, type WaitingQuery } from '../../timer/index.ts'
import { decodeCursor, encodeCursor } from './list-cursor.ts'
import { scheduledMessage } from './scheduled-message.ts'

/** Messages of one page. */
export const PAGE_SIZE_MAX = 1_000
/** Of lists, counts, forecasts, dry runs and looks for handles without a place, at the same time. */
export const LISTS_MAX = 32
/** Steps of one forecast. */
export const FORECAST_STEPS_MAX = 10_000
/** A page with more than this, bodies apart, ends with what it has. */
const PAGE_BYTES_MAX = 1024 * 1024
/** A page that has taken so long ends with what it has. */
const PAGE_TIME_MS = 100
/** Far chunks up to this size are read for a forecast; larger ones are spread over its steps. */
const FORECAST_READ_BYTES_MAX = 64 * 1024 * 1024
/** Later than any deliver time. */
const END_MS = Number.MAX_SAFE_INTEGER

/** What is asked of the timers. See `TimerStores`. */
export interface ListedTimers {
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep>
  count(query: WaitingQuery, tally: Tally): Promise<void>
}

/** What goes through what waits for a user takes room in it; the timers do one step at a time. */
export function listGate(): Gate {
  const reason = `${LISTS_MAX} lists and counts are under way already`
  return new Gate(LISTS_MAX, { countMax: 0, reason })
}

/** Lists and counts what waits, for users. */
export class ScheduledLists {
  readonly #timers: ListedTimers
  readonly #clock: Clock
  readonly #brokerName: string
  readonly #gate: Gate

  /** `gate` is that of `listGate`. */
  constructor(parts: { timers: ListedTimers; clock: Clock; brokerName: string; gate: Gate }) {
    this.#timers = parts.timers
    this.#clock = parts.clock
    this.#brokerName = parts.brokerName
    this.#gate = parts.gate
  }

  /** See `SchedulePort.list`. */
  async list(filter: ScheduleFilter, page: PageRequest): Promise<Page> {
    checkWhole('limit', page.limit, 1, PAGE_SIZE_MAX)
    const query = queryOf(filter)
    return this.#gate.run(1, () => this.#page(query, page))
  }

  async #page(query: WaitingQuery, page: PageRequest): Promise<Page> {
    const messages: ScheduledMessage[] = []
    const endAtMs = this.#clock.uptimeMs() + PAGE_TIME_MS
    let bytes = 0
    let isFull = false
    let next = page.cursor === undefined ? undefined : decodeCursor(page.cursor)
    do {
      const step = await this.#timers.list(query, next, page.limit - messages.length)
      for (const { isParked, ...at } of step.messages) {
        const state = isParked ? 'parked' : 'scheduled'
        const message = scheduledMessage({ ...at, state }, this.#brokerName)
        messages.push(message)
        bytes += at.record.length - message.bodyBytes
      }
      next = step.next
      isFull = messages.length >= page.limit || bytes > PAGE_BYTES_MAX
    } while (next !== undefined && !isFull && this.#clock.uptimeMs() < endAtMs)
    return { messages, nextCursor: next === undefined ? undefined : encodeCursor(next) }
  }

  /** See `SchedulePort.count`. */
  async count(filter: ScheduleFilter): Promise<number> {
    const query = queryOf(filter)
    const steps = { fromMs: query.fromMs, stepMs: query.toMs - query.fromMs, stepCount: 1 }
    const tally = new Tally(steps, Infinity)
    await this.#gate.run(1, () => this.#timers.count(query, tally))
    return tally.total
  }

  /** See `SchedulePort.forecast`. */
  async forecast(filter: ScheduleFilter, steps: ForecastSteps): Promise<Forecast> {
    const { fromMs, toMs, stepMs } = steps
    checkWhole('stepMs', stepMs, 1, END_MS)
    checkTimes(fromMs, toMs)
    const stepCount = Math.ceil((toMs - fromMs) / stepMs)
    if (stepCount > FORECAST_STEPS_MAX) {
      const problem = `too many steps: at most ${FORECAST_STEPS_MAX}`
      throw new BrokerError('PARAMETER_INVALID', { field: 'stepMs', problem, stepCount })
    }
    const { fromMs: filterFromMs, toMs: filterToMs, ...query } = queryOf(filter)
    const meant = { fromMs: Math.max(fromMs, filterFromMs), toMs: Math.min(toMs, filterToMs) }
    const tally = new Tally({ fromMs, stepMs, stepCount }, FORECAST_READ_BYTES_MAX)
    if (meant.fromMs < meant.toMs) {
      await this.#gate.run(1, () => this.#timers.count({ ...query, ...meant }, tally))
    }
    return { counts: [...tally.counts], estimatedCount: tally.spreadCount }
  }
}

/** Errors: PARAMETER_INVALID. */
export function checkFilter(filter: ScheduleFilter): void {
  const { topic, tag, key, keyPrefix, fromMs = 0, toMs = END_MS } = filter
  for (const [field, text] of Object.entries({ topic, tag, key, keyPrefix })) {
    checkAskedText(field, text)
  }
  checkTimes(fromMs, toMs)
}

/** Errors: PARAMETER_INVALID. */
function queryOf(filter: ScheduleFilter): WaitingQuery {
  const { fromMs = 0, toMs = END_MS, state } = filter
  checkFilter(filter)
  const matches = (source: Buffer, position: number): boolean =>
    matchesProperties(filter, recordProperties(source, position))
  return {
    fromMs,
    toMs,
    isParked: state === undefined ? undefined : state === 'parked',
    matches: asksForProperties(filter) ? matches : undefined,
  }
}

function checkTimes(fromMs: number, toMs: number): void {
  checkWhole('fromMs', fromMs, 0, END_MS)
  checkWhole('toMs', toMs, 0, END_MS)
  if (fromMs >= toMs) {
    throw new BrokerError('PARAMETER_INVALID', { field: 'toMs', problem: 'not after fromMs' })
  }
}

function checkWhole(field: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  const problem = `not a whole number from ${min} to ${max}`
  throw new BrokerError('PARAMETER_INVALID', { field, problem })
}
