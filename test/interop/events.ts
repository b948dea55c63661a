/** What a client program says happened: lines of columns separated by tabs. */

export interface Sent {
  readonly id: string
  readonly beforeMs: number
  readonly afterMs: number
  /** Absolute deliver time that the client asked for; undefined when the broker works it out. */
  readonly deliverTimeMs: number | undefined
}

export interface Received {
  readonly id: string
  readonly atMs: number
  readonly reconsumeCount: number
  readonly tag: string
  readonly keys: string
  readonly note: string
  readonly body: string
}

export type CancelAnswer =
  | {
      readonly kind: 'cancelled'
      readonly afterMs: number
      /** With which the message was sent. */
      readonly uniqueKey: string
      /** In the answer to the cancel; empty when the way to cancel has none. */
      readonly answeredKey: string
    }
  | { readonly kind: 'refused'; readonly beforeMs: number; readonly reason: string }

export interface Events {
  readonly sent: ReadonlyMap<string, Sent>
  /** Id to reason. */
  readonly failed: ReadonlyMap<string, string>
  /** By the ids of the messages to cancel. */
  readonly cancels: ReadonlyMap<string, CancelAnswer>
  readonly received: readonly Received[]
  /** What the consumer of dead letters received. */
  readonly dead: readonly Received[]
  /** Lines that are no event. Libraries sometimes write to standard output. */
  readonly foreignCount: number
}

export function parseEvents(lines: readonly string[]): Events {
  const sent = new Map<string, Sent>()
  const failed = new Map<string, string>()
  const cancels = new Map<string, CancelAnswer>()
  const received: Received[] = []
  const dead: Received[] = []
  let foreignCount = 0
  for (const line of lines) {
    const columns = line.split('\t')
    const [event, id = '', third = ''] = columns
    if (event === 'sent') sent.set(id, parseSent(columns))
    else if (event === 'failed') failed.set(id, third)
    else if (event === 'cancelled') cancels.set(id, parseCancelled(columns))
    else if (event === 'not-cancelled') cancels.set(id, parseRefused(columns))
    else if (event === 'received') received.push(parseReceived(columns))
    else if (event === 'dead') dead.push(parseReceived(columns))
    else foreignCount += 1
  }
  return { sent, failed, cancels, received, dead, foreignCount }
}

function parseSent([, id = '', beforeMs, afterMs, deliverMs]: readonly string[]): Sent {
  const deliverTimeMs = Number(deliverMs)
  return {
    id,
    beforeMs: Number(beforeMs),
    afterMs: Number(afterMs),
    deliverTimeMs: deliverTimeMs === -1 ? undefined : deliverTimeMs,
  }
}

function parseCancelled(columns: readonly string[]): CancelAnswer {
  const [, , afterMs, uniqueKey = '', answeredKey = ''] = columns
  return { kind: 'cancelled', afterMs: Number(afterMs), uniqueKey, answeredKey }
}

function parseRefused([, , beforeMs, reason = '']: readonly string[]): CancelAnswer {
  return { kind: 'refused', beforeMs: Number(beforeMs), reason }
}

function parseReceived(columns: readonly string[]): Received {
  const [, atMs, reconsumeCount, tag = '', keys = '', note = '', bodyBase64 = ''] = columns
  const body = Buffer.from(bodyBase64, 'base64').toString()
  const [id = ''] = body.split('|', 1)
  return {
    id,
    atMs: Number(atMs),
    reconsumeCount: Number(reconsumeCount),
    tag,
    keys,
    note,
    body,
  }
}
