import { assert } from '../../base/index.ts'

/** Something that will happen; without an action it was cancelled. */
export interface ScheduledEvent {
  readonly dueMs: number
  readonly sequence: number
  action: (() => void) | undefined
}

/** The one queue of all that happens in a simulated world, by (uptime, order of scheduling). */
export class Scheduler {
  readonly #heap: ScheduledEvent[] = []
  readonly #float = new Float64Array(1)
  readonly #words = new Uint32Array(this.#float.buffer)
  #uptimeMs = 0
  #sequence = 0
  #trace = 0x811c_9dc5

  /** Milliseconds since the world began, with fraction. */
  get uptimeMs(): number {
    return this.#uptimeMs
  }

  /** A digest of all that has happened up to now: equal for equal runs. */
  get trace(): number {
    return this.#trace
  }

  schedule(delayMs: number, action: () => void): ScheduledEvent {
    assert(delayMs >= 0, 'nothing happens in the past')
    const event = { dueMs: this.#uptimeMs + delayMs, sequence: this.#sequence++, action }
    this.#push(event)
    return event
  }

  /** When the next event is due, or `undefined` when there is none. */
  nextDueMs(): number | undefined {
    let first = this.#heap[0]
    while (first !== undefined && first.action === undefined) {
      this.#pop()
      first = this.#heap[0]
    }
    return first?.dueMs
  }

  /** Lets the next event happen and the uptime advance to it. There must be one. */
  runNext(): void {
    assert(this.nextDueMs() !== undefined, 'there must be an event')
    const event = this.#pop()
    // Later than it was due when time was lost.
    this.#uptimeMs = Math.max(this.#uptimeMs, event.dueMs)
    this.#mix(event.sequence)
    this.#float[0] = event.dueMs
    this.#mix(this.#words[0] ?? 0)
    this.#mix(this.#words[1] ?? 0)
    const action = event.action
    event.action = undefined
    action?.()
  }

  /** Lets time pass in which nothing happens. */
  advanceTo(uptimeMs: number): void {
    const next = this.nextDueMs()
    assert(next === undefined || next >= uptimeMs, 'an event must not be passed over')
    this.#uptimeMs = Math.max(this.#uptimeMs, uptimeMs)
  }

  /** Lets time pass in which nothing can happen: what is due meanwhile happens afterwards. */
  lose(durationMs: number): void {
    this.#uptimeMs += durationMs
  }

  /** Adds to the digest what a call was made with. */
  note(text: string, value: number): void {
    for (let index = 0; index < text.length; index++) this.#mix(text.charCodeAt(index))
    this.#mix(value >>> 0)
  }

  #mix(value: number): void {
    this.#trace = Math.imul(this.#trace ^ value ^ (value >>> 15), 0x0100_0193) >>> 0
  }

  #push(event: ScheduledEvent): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = heap[parentIndex]
      if (parent === undefined || isBefore(parent, event)) break
      heap[index] = parent
      index = parentIndex
    }
    heap[index] = event
  }

  #pop(): ScheduledEvent {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    assert(first !== undefined && last !== undefined, 'the queue must not be empty')
    if (heap.length > 0) this.#sink(last)
    return first
  }

  #sink(event: ScheduledEvent): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      let childIndex = 2 * index + 1
      const left = heap[childIndex]
      if (left === undefined) break
      const right = heap[childIndex + 1]
      let child = left
      if (right !== undefined && isBefore(right, left)) {
        child = right
        childIndex++
      }
      if (isBefore(event, child)) break
      heap[index] = child
      index = childIndex
    }
    heap[index] = event
  }
}

function isBefore(left: ScheduledEvent, right: ScheduledEvent): boolean {
  if (left.dueMs !== right.dueMs) return left.dueMs < right.dueMs
  return left.sequence < right.sequence
}
