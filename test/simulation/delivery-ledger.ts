import { Violation } from './violation.ts'

const NOT_YET = 0
const DELIVERED = 1

/** Millions of messages that each have one deliver time: nine bytes for one. */
export class DeliveryLedger {
  /** Sum of the records of all that waits. */
  waitingBytes = 0
  waitingBytesMax = 0
  /** Latest deliver time of all. */
  lastDueMs = 0
  #sentCount = 0
  #deliveredCount = 0
  readonly #dueMs: Float64Array
  readonly #states: Uint8Array

  constructor(countMax: number) {
    this.#dueMs = new Float64Array(countMax)
    this.#states = new Uint8Array(countMax)
  }

  get sentCount(): number {
    return this.#sentCount
  }

  get deliveredCount(): number {
    return this.#deliveredCount
  }

  get waitingCount(): number {
    return this.#sentCount - this.#deliveredCount
  }

  /** A message was accepted; returns its number. */
  add(dueMs: number, recordBytes: number): number {
    const number = this.#sentCount++
    this.#dueMs[number] = dueMs
    this.lastDueMs = Math.max(this.lastDueMs, dueMs)
    this.waitingBytes += recordBytes
    this.waitingBytesMax = Math.max(this.waitingBytesMax, this.waitingBytes)
    return number
  }

  /**
   * A message was stored in its topic. Throws a violation when it was not sent, is there already, or
   * was stored in another millisecond than its own.
   */
  delivered(number: number, storeTimeMs: number, recordBytes: number): void {
    const dueMs = this.#dueMs[number]
    if (dueMs === undefined || !(number < this.#sentCount)) {
      throw new Violation(1, `nobody sent ${number}`)
    }
    if (this.#states[number] !== NOT_YET) throw new Violation(3, `${number} was published twice`)
    if (storeTimeMs < dueMs) {
      throw new Violation(2, `${number}, due ${dueMs}, was published at ${storeTimeMs}`)
    }
    if (storeTimeMs > dueMs) {
      throw new Violation(12, `${number}, due ${dueMs}, came ${storeTimeMs - dueMs} ms late`)
    }
    this.#states[number] = DELIVERED
    this.#deliveredCount++
    this.waitingBytes -= recordBytes
  }
}
