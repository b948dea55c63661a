const CAPACITY_FIRST = 8192
const EMPTY = 0
const GOLDEN = 0x9e37_79b1

/** From timer id to slot of the window: open addressing, 8 to 16 bytes an entry. */
export class SlotIndex {
  /** Slots plus one, so that zero is empty. */
  #cells = new Int32Array(CAPACITY_FIRST)
  #mask = CAPACITY_FIRST - 1
  #count = 0
  readonly #timerIdOf: (slot: number) => number

  /** `timerIdOf` tells the id of a slot that was added and not removed. */
  constructor(timerIdOf: (slot: number) => number) {
    this.#timerIdOf = timerIdOf
  }

  add(timerId: number, slot: number): void {
    if (this.#count * 2 >= this.#cells.length) this.#grow()
    this.#place(timerId, slot)
    this.#count++
  }

  /** The slot, or -1. */
  find(timerId: number): number {
    return (this.#cells[this.#cellOf(timerId)] ?? EMPTY) - 1
  }

  /** To be called while the slot still has its id. */
  remove(timerId: number, slot: number): void {
    let hole = this.#home(timerId)
    while (this.#cells[hole] !== slot + 1) {
      if (this.#cells[hole] === EMPTY) return
      hole = (hole + 1) & this.#mask
    }
    this.#count--
    // What was displaced by the removed one moves up, so that it is found without marks.
    for (let cell = hole; ;) {
      cell = (cell + 1) & this.#mask
      const entry = this.#cells[cell] ?? EMPTY
      if (entry === EMPTY) break
      const home = this.#home(this.#timerIdOf(entry - 1))
      const isBetween = ((cell - home) & this.#mask) < ((cell - hole) & this.#mask)
      if (isBetween) continue
      this.#cells[hole] = entry
      hole = cell
    }
    this.#cells[hole] = EMPTY
  }

  /** The cell of this id, or the empty one where it would be. */
  #cellOf(timerId: number): number {
    let cell = this.#home(timerId)
    for (;;) {
      const entry = this.#cells[cell] ?? EMPTY
      if (entry === EMPTY || this.#timerIdOf(entry - 1) === timerId) return cell
      cell = (cell + 1) & this.#mask
    }
  }

  #place(timerId: number, slot: number): void {
    let cell = this.#home(timerId)
    while (this.#cells[cell] !== EMPTY) cell = (cell + 1) & this.#mask
    this.#cells[cell] = slot + 1
  }

  #home(timerId: number): number {
    const high = Math.floor(timerId / 0x1_0000_0000)
    const mixed = Math.imul((timerId | 0) ^ Math.imul(high, GOLDEN), GOLDEN)
    return (mixed ^ (mixed >>> 15)) & this.#mask
  }

  #grow(): void {
    const old = this.#cells
    this.#cells = new Int32Array(old.length * 2)
    this.#mask = this.#cells.length - 1
    for (const entry of old) if (entry !== EMPTY) this.#place(this.#timerIdOf(entry - 1), entry - 1)
  }
}
