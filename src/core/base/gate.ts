interface Waiting {
  readonly weight: number
  readonly admit: () => void
}

/**
 * Bounds the sum of what is under way at the same time, in whatever unit; what finds no room
 * waits in line. Something heavier than all the room is let in alone.
 */
export class Gate {
  readonly #room: number
  #taken = 0
  #waiting: Waiting[] = []

  constructor(room: number) {
    this.#room = room
  }

  /** Does the work in its turn; what it comes to is passed on. */
  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length === 0 && this.#fits(weight)) this.#taken += weight
    else await new Promise<void>(admit => this.#waiting.push({ weight, admit }))
    try {
      return await work()
    } finally {
      this.#taken -= weight
      this.#admitNext()
    }
  }

  #admitNext(): void {
    for (;;) {
      const [next] = this.#waiting
      if (next === undefined || !this.#fits(next.weight)) return
      this.#waiting.shift()
      this.#taken += next.weight
      next.admit()
    }
  }

  #fits(weight: number): boolean {
    return this.#taken === 0 || this.#taken + weight <= this.#room
  }
}
