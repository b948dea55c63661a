import { assert } from '../../core/base/index.ts'
import type { ConsumeQueue } from './consume-queue.ts'

const CAPACITY_FIRST = 4096

/**
 * Records that are in the log and not yet applied, in log order. Columns instead of objects:
 * it holds hundreds of thousands under load and nothing is left to collect.
 */
export class PendingApplies {
  #capacity = CAPACITY_FIRST
  #head = 0
  #count = 0
  #offsets = new Float64Array(CAPACITY_FIRST)
  #sizes = new Uint32Array(CAPACITY_FIRST)
  #tagsCodes = new Float64Array(CAPACITY_FIRST)
  #queueOffsets = new Float64Array(CAPACITY_FIRST)
  #queues: (ConsumeQueue | undefined)[] = Array.from({ length: CAPACITY_FIRST })

  get count(): number {
    return this.#count
  }

  /** The record takes the queue's next offset. */
  push(queue: ConsumeQueue, tagsCode: number, commitLogOffset: number, sizeBytes: number): void {
    if (this.#count === this.#capacity) this.#grow()
    const index = (this.#head + this.#count) % this.#capacity
    this.#offsets[index] = commitLogOffset
    this.#sizes[index] = sizeBytes
    this.#tagsCodes[index] = tagsCode
    this.#queueOffsets[index] = queue.nextOffset
    this.#queues[index] = queue
    this.#count++
  }

  get firstCommitLogOffset(): number {
    return this.#offsets[this.#head] ?? 0
  }

  get firstSize(): number {
    return this.#sizes[this.#head] ?? 0
  }

  get firstTagsCode(): number {
    return this.#tagsCodes[this.#head] ?? 0
  }

  get firstQueueOffset(): number {
    return this.#queueOffsets[this.#head] ?? 0
  }

  get firstQueue(): ConsumeQueue {
    const queue = this.#queues[this.#head]
    assert(queue !== undefined, 'there is no first entry')
    return queue
  }

  shift(): void {
    assert(this.#count > 0, 'there is no first entry')
    this.#queues[this.#head] = undefined
    this.#head = (this.#head + 1) % this.#capacity
    this.#count--
  }

  #grow(): void {
    const capacity = this.#capacity * 2
    this.#offsets = this.#unrolled(this.#offsets, new Float64Array(capacity))
    this.#sizes = this.#unrolled(this.#sizes, new Uint32Array(capacity))
    this.#tagsCodes = this.#unrolled(this.#tagsCodes, new Float64Array(capacity))
    this.#queueOffsets = this.#unrolled(this.#queueOffsets, new Float64Array(capacity))
    const queues: (ConsumeQueue | undefined)[] = Array.from({ length: capacity })
    for (let index = 0; index < this.#count; index++) {
      queues[index] = this.#queues[(this.#head + index) % this.#capacity]
    }
    this.#queues = queues
    this.#head = 0
    this.#capacity = capacity
  }

  #unrolled<Column extends Float64Array | Uint32Array>(from: Column, to: Column): Column {
    to.set(from.subarray(this.#head), 0)
    to.set(from.subarray(0, this.#head), this.#capacity - this.#head)
    return to
  }
}
