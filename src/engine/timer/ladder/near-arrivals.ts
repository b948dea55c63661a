const CAPACITY_FIRST = 4096

/**
 * Messages that went straight to the window because they are due within seconds, oldest first:
 * what of them has not fired must be in a partition before the log below it may be forgotten.
 */
export class NearArrivals {
  #capacity = CAPACITY_FIRST
  #head = 0
  #count = 0
  #timerIds = new Float64Array(CAPACITY_FIRST)
  #slots = new Int32Array(CAPACITY_FIRST)

  get count(): number {
    return this.#count
  }

  push(timerId: number, slot: number): void {
    if (this.#count === this.#capacity) this.#grow()
    const index = (this.#head + this.#count) % this.#capacity
    this.#timerIds[index] = timerId
    this.#slots[index] = slot
    this.#count++
  }

  get firstTimerId(): number {
    return this.#count === 0 ? Infinity : (this.#timerIds[this.#head] ?? 0)
  }

  get firstSlot(): number {
    return this.#slots[this.#head] ?? 0
  }

  shift(): void {
    this.#head = (this.#head + 1) % this.#capacity
    this.#count--
  }

  #grow(): void {
    const capacity = this.#capacity * 2
    const timerIds = new Float64Array(capacity)
    const slots = new Int32Array(capacity)
    for (let index = 0; index < this.#count; index++) {
      timerIds[index] = this.#timerIds[(this.#head + index) % this.#capacity] ?? 0
      slots[index] = this.#slots[(this.#head + index) % this.#capacity] ?? 0
    }
    this.#timerIds = timerIds
    this.#slots = slots
    this.#head = 0
    this.#capacity = capacity
  }
}
