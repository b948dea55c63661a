import { secondsSince } from '../store/index.ts'

/**
 * Judges the seconds of a file's items, which count from its beginTime. That is under no checksum:
 * before an item has agreed with it, two that do not speak against it and not against themselves.
 */
export class ItemSeconds {
  /** What the seconds count from; `undefined` when it is damaged and not known otherwise. */
  beginTimeMs: number | undefined
  /** Reported when it turns out that beginTime is right. */
  doubtfulItem = 0
  #isSure: boolean
  /** Apache counts the seconds of a file's first item from the last one of the file before. */
  readonly #beforeMs: number | undefined

  constructor(beginTimeMs: number, known: { isSure: boolean; beforeMs: number | undefined }) {
    this.beginTimeMs = beginTimeMs
    this.#isSure = known.isSure
    this.#beforeMs = known.beforeMs
  }

  /** The record of a file's first item says what the others count from. */
  beginAt(storeTimeMs: number): void {
    this.beginTimeMs = storeTimeMs
    this.#isSure = true
  }

  fits(item: number, seconds: number, storeTimeMs: number): boolean {
    if (this.beginTimeMs === undefined) return true
    if (item === 1) {
      if (seconds === 0) return true
      return this.#beforeMs !== undefined && seconds === secondsSince(this.#beforeMs, storeTimeMs)
    }
    return seconds === secondsSince(this.beginTimeMs, storeTimeMs)
  }

  /** As `fits`, of an item that is otherwise that of its record; keeps a first doubt for itself. */
  accepts(item: number, seconds: number, storeTimeMs: number): boolean {
    const isRight = this.fits(item, seconds, storeTimeMs)
    if (this.#isSure || item === 1) return isRight
    if (isRight) this.#isSure = true
    else if (this.doubtfulItem === 0) this.doubtfulItem = item
    else {
      this.beginTimeMs = undefined
      this.doubtfulItem = 0
    }
    return true
  }

  /** The item that was doubted and is damaged, as is known by now; 0: none. */
  takeDamaged(isEnd: boolean): number {
    if (this.doubtfulItem === 0 || !(this.#isSure || isEnd)) return 0
    const item = this.doubtfulItem
    this.doubtfulItem = 0
    return item
  }
}
