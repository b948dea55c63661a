import type { Clock, Timer, Timers } from '../../core/platform/index.ts'

const SAMPLE_INTERVAL_MS = 10_000
/** Samples behind the rates over 10 s, 1 min and 10 min. */
const RATE_SAMPLES: readonly number[] = [1, 6, 60]
const SAMPLE_COUNT_MAX = 61

/** What is counted. Plain fields: the hot path adds to them. */
export interface Counters {
  /** Messages that became visible in a real topic: sent plain, or delivered when due. */
  putCount: number
  putBytes: number
  /** Messages handed to consumers. */
  getCount: number
  getBytes: number
  /** Messages that consumers sent back for another try. */
  sentBackCount: number
  /** Messages that were too late by their own policy. */
  lateDroppedCount: number
  lateDeadLetterCount: number
  /** Pulls that found messages, and pulls that found none. */
  getFoundCount: number
  getMissCount: number
}

/** Messages per second over the last 10 s, 1 min and 10 min, fewer after a start. */
export type Rates = readonly [number, number, number]

export interface Totals {
  readonly yesterdayMorning: number
  readonly todayMorning: number
  readonly now: number
}

interface Sample {
  readonly uptimeMs: number
  readonly counters: Counters
}

/** Counts of the whole broker since its start, of each topic, and rates. In memory only. */
export class Statistics {
  readonly broker: Counters = noCounts()
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #topics = new Map<string, Counters>()
  readonly #samples: Sample[] = []
  readonly startTimeMs: number
  readonly startUptimeMs: number
  #timer: Timer | undefined
  #day: string
  #yesterdayMorning: Counters = noCounts()
  #todayMorning: Counters = noCounts()

  constructor(platform: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = platform.clock
    this.#timers = platform.timers
    this.startTimeMs = platform.clock.timeMs()
    this.startUptimeMs = platform.clock.uptimeMs()
    this.#day = dayOf(this.startTimeMs)
    this.sample()
  }

  /** Samples every ten seconds from now on. */
  start(): void {
    this.#timer = this.#timers.after(SAMPLE_INTERVAL_MS, () => {
      this.start()
      this.sample()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Counters of a topic. Keep the object: it stays the same. The topic must exist. */
  topic(name: string): Counters {
    let counters = this.#topics.get(name)
    if (counters === undefined) this.#topics.set(name, (counters = noCounts()))
    return counters
  }

  countPut(topic: string, count: number, sizeBytes: number): void {
    addPut(this.broker, count, sizeBytes)
    addPut(this.topic(topic), count, sizeBytes)
  }

  countGet(topic: string, count: number, sizeBytes: number): void {
    addGet(this.broker, count, sizeBytes)
    addGet(this.topic(topic), count, sizeBytes)
  }

  countSentBack(topic: string): void {
    this.broker.sentBackCount++
    this.topic(topic).sentBackCount++
  }

  /** Rates of one counter of the broker, per second. */
  rates(name: keyof Counters): Rates {
    const nowMs = this.#clock.uptimeMs()
    const [short = 0, middle = 0, long = 0] = RATE_SAMPLES.map(age => {
      const sample = this.#samples[Math.max(0, this.#samples.length - age)]
      if (sample === undefined || nowMs <= sample.uptimeMs) return 0
      const count = this.broker[name] - sample.counters[name]
      return (count * 1000) / (nowMs - sample.uptimeMs)
    })
    return [short, middle, long]
  }

  /** A counter at midnight (local time) before today's, at today's, and now; since the start. */
  totals(name: keyof Counters): Totals {
    return {
      yesterdayMorning: this.#yesterdayMorning[name],
      todayMorning: this.#todayMorning[name],
      now: this.broker[name],
    }
  }

  /** Takes the values from which rates are computed. */
  sample(): void {
    const day = dayOf(this.#clock.timeMs())
    if (day !== this.#day) {
      this.#day = day
      this.#yesterdayMorning = this.#todayMorning
      this.#todayMorning = { ...this.broker }
    }
    this.#samples.push({ uptimeMs: this.#clock.uptimeMs(), counters: { ...this.broker } })
    if (this.#samples.length > SAMPLE_COUNT_MAX) this.#samples.shift()
  }
}

function noCounts(): Counters {
  return {
    putCount: 0,
    putBytes: 0,
    getCount: 0,
    getBytes: 0,
    sentBackCount: 0,
    lateDroppedCount: 0,
    lateDeadLetterCount: 0,
    getFoundCount: 0,
    getMissCount: 0,
  }
}

function addPut(counters: Counters, count: number, sizeBytes: number): void {
  counters.putCount += count
  counters.putBytes += sizeBytes
}

function addGet(counters: Counters, count: number, sizeBytes: number): void {
  if (count === 0) {
    counters.getMissCount++
    return
  }
  counters.getFoundCount++
  counters.getCount += count
  counters.getBytes += sizeBytes
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toDateString()
}
