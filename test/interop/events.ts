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

export interface Events {
  readonly sent: ReadonlyMap<string, Sent>
  /** Id to reason. */
  readonly failed: ReadonlyMap<string, string>
  readonly received: readonly Received[]
  /** What the consumer of dead letters received. */
  readonly dead: readonly Received[]
  /** Lines that are no event. Libraries sometimes write to standard output. */
  readonly foreignCount: number
}

export function parseEvents(lines: readonly string[]): Events {
  const sent = new Map<string, Sent>()
  const failed = new Map<string, string>()
  const received: Received[] = []
  const dead: Received[] = []
  let foreignCount = 0
  for (const line of lines) {
    const columns = line.split('\t')
    const [event, id = '', third = ''] = columns
    if (event === 'sent') sent.set(id, parseSent(columns))
    else if (event === 'failed') failed.set(id, third)
    else if (event === 'received') received.push(parseReceived(columns))
    else if (event === 'dead') dead.push(parseReceived(columns))
    else foreignCount += 1
  }
  return { sent, failed, received, dead, foreignCount }
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
