/** What is sent: a plan is a list of messages, and each client sends it in its own way. */

export type Kind = 'plain' | 'level' | 'delay-sec' | 'delay-ms' | 'deliver-ms'

export interface PlannedMessage {
  readonly id: string
  readonly kind: Kind
  /** The level, the delay in the kind's unit, or how many ms after now to deliver; 0 for plain. */
  readonly value: number
  readonly tag: string
  /** Keys, separated by a space. */
  readonly keys: string
  /** Value of the user property `interop-note`. */
  readonly note: string
  /** Starts with the id and a bar. */
  readonly body: string
}

export interface KindShare {
  readonly kind: Kind
  /** Taken in turn. */
  readonly values: readonly number[]
  readonly count: number
}

/** A body longer than 4 KiB is compressed by most clients. */
const LONG_BODY_EVERY = 10
const LONG_BODY_REPEATS = 150
const TAG_COUNT = 3

/** Shares in parts of 1,000. One deliver time lies in the past and means "at once". */
const shares: readonly KindShare[] = [
  { kind: 'plain', values: [0], count: 250 },
  { kind: 'level', values: [1], count: 150 },
  { kind: 'level', values: [2], count: 150 },
  { kind: 'level', values: [3], count: 150 },
  { kind: 'delay-sec', values: [1, 2, 4, 8, 3], count: 100 },
  { kind: 'delay-ms', values: [1, 250, 1_500, 4_321, 9_000], count: 100 },
  { kind: 'deliver-ms', values: [-5_000, 1, 700, 3_333, 8_500], count: 100 },
]

/** About `count` messages of all kinds, in the proportions above. */
export function roundTripShares(count: number): readonly KindShare[] {
  return shares.map(share => ({ ...share, count: Math.round((share.count * count) / 1_000) }))
}

/** The kinds are interleaved, so that each is sent over the whole time of sending. */
export function makePlan(prefix: string, kindShares: readonly KindShare[]): PlannedMessage[] {
  const slots = kindShares.flatMap(share =>
    Array.from({ length: share.count }, (_, index) => ({
      place: (index + 0.5) / share.count,
      kind: share.kind,
      value: share.values[index % share.values.length] ?? 0,
    })),
  )
  slots.sort((left, right) => left.place - right.place)
  return slots.map(({ kind, value }, index) => {
    const id = `${prefix}-${index}`
    const text = `body of ${id}, with ümlaut and 时间; `
    return {
      id,
      kind,
      value,
      tag: `tag-${index % TAG_COUNT}`,
      keys: `${id} order-${index}`,
      note: `note ${index}: naïve, 延迟`,
      body: `${id}|${index % LONG_BODY_EVERY === 0 ? text.repeat(LONG_BODY_REPEATS) : text}`,
    }
  })
}

/** One line for each message, its columns separated by tabs. */
export function formatPlan(plan: readonly PlannedMessage[]): string {
  return plan
    .map(({ id, kind, value, tag, keys, note, body }) =>
      [id, kind, value, tag, keys, note, body].join('\t'),
    )
    .map(line => `${line}\n`)
    .join('')
}
