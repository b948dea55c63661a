import type { TimerRef } from '../ladder/chunk-search.ts'

/** Where a parked message lies. */
export interface ParkedPlace {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly chunkNumber: number
  /** Of the timer record in its chunk. */
  readonly position: number
  /** Of the accept record, without the header of the chunk. */
  readonly recordBytes: number
}

const BACKOFF_FIRST_MS = 1_000
const BACKOFF_MAX_MS = 30_000

/**
 * Parked messages of one topic that refuses them, oldest first, in columns. The first one is tried
 * again after a pause that grows; when it is taken, the others follow at once.
 */
export class ParkedQueue {
  #head = 0
  #timerIds: number[] = []
  #deliverTimesMs: number[] = []
  #chunkNumbers: number[] = []
  #positions: number[] = []
  #recordBytes: number[] = []
  #backoffMs = BACKOFF_FIRST_MS
  #retryAtUptimeMs: number

  constructor(retryAtUptimeMs: number) {
    this.#retryAtUptimeMs = retryAtUptimeMs
  }

  get count(): number {
    return this.#timerIds.length - this.#head
  }

  get retryAtUptimeMs(): number {
    return this.#retryAtUptimeMs
  }

  push(place: ParkedPlace): void {
    this.#timerIds.push(place.timerId)
    this.#deliverTimesMs.push(place.deliverTimeMs)
    this.#chunkNumbers.push(place.chunkNumber)
    this.#positions.push(place.position)
    this.#recordBytes.push(place.recordBytes)
  }

  first(): ParkedPlace | undefined {
    return this.#at(this.#head)
  }

  find(timerId: number): ParkedPlace | undefined {
    const index = this.#timerIds.indexOf(timerId, this.#head)
    return index < 0 ? undefined : this.#at(index)
  }

  /** All of them, for those that `accepts` says yes to. */
  visit(accepts: (ref: TimerRef) => boolean, see: (place: ParkedPlace) => void): void {
    for (let index = this.#head; index < this.#timerIds.length; index++) {
      const timerId = this.#timerIds[index] ?? 0
      const deliverTimeMs = this.#deliverTimesMs[index] ?? 0
      const place = accepts({ timerId, deliverTimeMs }) ? this.#at(index) : undefined
      if (place !== undefined) see(place)
    }
  }

  remove(timerId: number): void {
    const index = this.#timerIds.indexOf(timerId, this.#head)
    if (index < 0) return
    this.#timerIds.splice(index, 1)
    this.#deliverTimesMs.splice(index, 1)
    this.#chunkNumbers.splice(index, 1)
    this.#positions.splice(index, 1)
    this.#recordBytes.splice(index, 1)
  }

  #at(index: number): ParkedPlace | undefined {
    const timerId = this.#timerIds[index]
    if (timerId === undefined) return undefined
    return {
      timerId,
      deliverTimeMs: this.#deliverTimesMs[index] ?? 0,
      chunkNumber: this.#chunkNumbers[index] ?? 0,
      position: this.#positions[index] ?? 0,
      recordBytes: this.#recordBytes[index] ?? 0,
    }
  }

  /** The first becomes the last. */
  rotate(): void {
    const place = this.first()
    if (place === undefined) return
    this.shift()
    this.push(place)
  }

  shift(): void {
    this.#head++
    if (this.#head < 1024 || this.#head * 2 < this.#timerIds.length) return
    this.#timerIds = this.#timerIds.slice(this.#head)
    this.#deliverTimesMs = this.#deliverTimesMs.slice(this.#head)
    this.#chunkNumbers = this.#chunkNumbers.slice(this.#head)
    this.#positions = this.#positions.slice(this.#head)
    this.#recordBytes = this.#recordBytes.slice(this.#head)
    this.#head = 0
  }

  /** The topic refused the first, or it could not be read: a pause, longer each time. */
  backOff(nowUptimeMs: number): void {
    this.#retryAtUptimeMs = nowUptimeMs + this.#backoffMs
    this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2)
  }

  /** One was taken: the next pause is short again. */
  taken(): void {
    this.#backoffMs = BACKOFF_FIRST_MS
  }
}
