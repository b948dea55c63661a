import { assert } from '../../core/base/index.ts'

/**
 * The newest part of the commit log in memory: write buffer and read cache in one.
 *
 * A ring of `capacityBytes` in which the byte at log offset `o` lies at `o % capacityBytes`. Behind
 * the ring is room for the largest record, so that a record is always contiguous from its first byte on:
 * what reaches over the ring's end is also copied to its start, for the flush.
 */
export class LogBuffer {
  readonly bytes: Buffer
  readonly capacityBytes: number
  /** Nothing below is in this buffer whole. */
  #heldFrom: number
  #endOffset: number

  constructor(capacityBytes: number, recordBytesMax: number, firstOffset: number) {
    assert(capacityBytes >= 2 * recordBytesMax, 'the buffer must hold two of the largest records')
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes + recordBytesMax)
    this.capacityBytes = capacityBytes
    this.#heldFrom = firstOffset
    this.#endOffset = firstOffset
  }

  get endOffset(): number {
    return this.#endOffset
  }

  /** Place of a log offset in `bytes`. */
  position(offset: number): number {
    return offset % this.capacityBytes
  }

  /** Whether the record that starts at `offset` is still here, whole. */
  holds(offset: number): boolean {
    return offset >= this.#heldFrom && offset < this.#endOffset
  }

  /** Takes in the bytes that were written at `offset`: they are part of the log from now on. */
  accept(offset: number, sizeBytes: number): void {
    const end = this.position(offset) + sizeBytes
    if (end > this.capacityBytes) this.bytes.copyWithin(0, this.capacityBytes, end)
    this.#endOffset = offset + sizeBytes
    this.spoil(this.#endOffset)
  }

  /** Bytes up to `offset` were written over, though they may not become part of the log. */
  spoil(offset: number): void {
    this.#heldFrom = Math.max(this.#heldFrom, offset - this.capacityBytes)
  }

  /** The bytes from `from` to `to` as one or two views, for a write to disk. */
  views(from: number, to: number): Buffer[] {
    assert(to - from <= this.capacityBytes, 'more than the buffer holds')
    const start = this.position(from)
    const end = start + (to - from)
    if (end <= this.capacityBytes) return [this.bytes.subarray(start, end)]
    return [
      this.bytes.subarray(start, this.capacityBytes),
      this.bytes.subarray(0, end - this.capacityBytes),
    ]
  }
}
