export const KINDS = ['plain', 'level', 'timer'] as const
export type Kind = (typeof KINDS)[number]

export interface Entry {
  readonly id: number
  readonly kind: Kind
  /** The message must not be stored in its topic or be received before this. */
  dueMs: number
  /** As it was sent. */
  readonly sentDueMs: number
  /** It may be due as late as that: a move was asked for. */
  latestMs: number
  acknowledged: boolean
  /** `asked`: nobody knows. `refused`: the broker said that it does not wait any more. */
  cancel: 'no' | 'asked' | 'done' | 'refused'
  /** When the consumer first got it. */
  receivedMs: number | undefined
}

/** What the tester knows, kept apart from the broker: every message sent, and which were accepted. */
export class Ledger {
  readonly #entries: Entry[] = []

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Notes a message before it is sent: from then on it may be in the log. */
  add(kind: Kind, dueMs: number): Entry {
    const id = this.#entries.length
    const entry: Entry = {
      id,
      kind,
      dueMs,
      sentDueMs: dueMs,
      latestMs: dueMs,
      acknowledged: false,
      cancel: 'no',
      receivedMs: undefined,
    }
    this.#entries.push(entry)
    return entry
  }

  find(id: number): Entry | undefined {
    return this.#entries[id]
  }

  /** When the last message is due, accepted or not. */
  lastDueMs(): number {
    return this.#entries.reduce((last, { latestMs }) => Math.max(last, latestMs), 0)
  }
}

export function topicOf(kind: Kind): string {
  return `crash-${kind}`
}

/** The id, then filling, so that records differ in size. */
export function bodyOf(id: number, fillBytes: number): Buffer {
  return Buffer.from(`${id} ${'x'.repeat(fillBytes)}`)
}

/** `undefined`: not one of ours, or damaged. */
export function idOf(body: Uint8Array): number | undefined {
  const match = /^(\d+) x*$/.exec(Buffer.from(body).toString('latin1'))
  return match === null ? undefined : Number(match[1])
}
