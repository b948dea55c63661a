import { BrokerError } from './errors.ts'

interface Waiting {
  readonly weight: number
  readonly admit: () => void
}

/** How many may wait in line, and what the others are told. */
export interface Line {
  readonly countMax: number
  readonly reason: string
}

const ENDLESS: Line = { countMax: Infinity, reason: '' }

/**
 * Bounds the sum of what is under way at the same time, in whatever unit; what finds no room
 * waits in line, where that has an end as well. Something heavier than all the room is let in alone.
 */
export class Gate {
  readonly #room: number
  readonly #line: Line
  #taken = 0
  #waiting: Waiting[] = []

  constructor(room: number, line: Line = ENDLESS) {
    this.#room = room
    this.#line = line
  }

  /**
   * Does the work in its turn; what it comes to is passed on. Errors: STORE_BUSY when it would have
   * to wait and the line is full.
   */
  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length === 0 && this.#fits(weight)) this.#taken += weight
    else await this.#turn(weight)
    try {
      return await work()
    } finally {
      this.#taken -= weight
      this.#admitNext()
    }
  }

  #turn(weight: number): Promise<void> {
    const { countMax, reason } = this.#line
    if (this.#waiting.length >= countMax) throw new BrokerError('STORE_BUSY', { reason })
    return new Promise(admit => this.#waiting.push({ weight, admit }))
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
