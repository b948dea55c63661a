import { BrokerError } from '../../src/core/base/index.ts'
import type { SeededRandom } from '../../src/core/platform/simulated/index.ts'
import { PutOutcome, PutRequest } from '../../src/engine/broker/index.ts'
import {
  encodeBatch,
  encodeHost,
  encodeRecallHandle,
  formatProperties,
  PROPERTY,
} from '../../src/model/message/index.ts'
import type { NewMessage } from '../../src/model/schedule/index.ts'
import type { Engine } from '../../src/server/index.ts'
import { uniqueKeyOf } from './key-requests.ts'
import {
  type LatePolicy,
  type Ledger,
  noCancels,
  noMoves,
  PROPERTY_NUMBER,
  type Send,
  type SendKind,
} from './ledger.ts'
import type { Totals } from './totals.ts'

const BORN_HOST = encodeHost('127.0.0.1', 40_000)
const BATCH_COUNT_MAX = 8

/** What of a message a sender decides. */
export interface Wish {
  readonly kind: SendKind
  readonly topic: string
  /** Added to the properties: what asks for a delay. */
  readonly delay: readonly (readonly [string, string])[]
  /** Earliest permitted time of delivery; 0 for a plain message. */
  readonly deliverTimeMs: number
  readonly late?: LatePolicy
}

export interface SenderParts {
  readonly engine: Engine
  readonly ledger: Ledger
  readonly random: SeededRandom
  readonly totals: Totals
  readonly nowMs: () => number
  /** Deliberate bug: does not wait for the flush. */
  readonly answersEarly: boolean
  readonly brokerName: string
}

/** Puts messages and knows when each of them counts as accepted, as a door does. */
export class Sender {
  readonly #parts: SenderParts
  readonly #request = new PutRequest()
  readonly #outcome = new PutOutcome()
  readonly #unanswered: Send[] = []
  #isClosed = false

  constructor(parts: SenderParts) {
    this.#parts = parts
    parts.engine.store.onApplied(() => this.#answer())
  }

  /** After it nothing is answered any more. */
  close(): void {
    this.#isClosed = true
  }

  send(wish: Wish): void {
    const { random } = this.#parts
    const number = this.#parts.ledger.nextNumber()
    const body = bodyOf(random, number)
    const properties = this.#properties(number)
    const request = this.#fill(wish, body)
    request.properties = formatProperties([...properties, ...wish.delay])
    const send = this.#draft(wish, { number, body, properties })
    if (!this.#put(() => this.#parts.engine.broker.put.put(request, this.#outcome))) return
    send.handle = this.#handle()
    this.#accepted([send], [this.#outcome.commitLogOffset])
  }

  /** A message with an own key, which somebody else puts; the sender waits for no answer. */
  keyed(wish: Wish, key: string): { readonly send: Send; readonly message: NewMessage } {
    const { random } = this.#parts
    const number = this.#parts.ledger.nextNumber()
    const body = bodyOf(random, number)
    const properties = this.#properties(number)
    properties.set(PROPERTY.ORRERY_KEY, key)
    properties.set(PROPERTY.UNIQ_KEY, uniqueKeyOf(number))
    const { topic, queueId, wishedQueueCount, flag, sysFlag, bornTimeMs, bornHost, nowMs } =
      this.#fill(wish, body)
    const sent = { topic, queueId, wishedQueueCount, flag, sysFlag, bornTimeMs, bornHost, nowMs }
    const encoded = formatProperties([...properties, ...wish.delay])
    const message = { ...sent, body, properties: encoded }
    // In the order of others of its time it stands where its send is answered.
    return { send: { ...this.#draft(wish, { number, body, properties }), calm: -1 }, message }
  }

  sendBatch(topic: string): void {
    const { random, ledger } = this.#parts
    const wish: Wish = { kind: 'batch', topic, delay: [], deliverTimeMs: 0 }
    const sends = Array.from({ length: 1 + random.below(BATCH_COUNT_MAX) }, () => {
      const number = ledger.nextNumber()
      const body = bodyOf(random, number).subarray(0, 1024)
      return this.#draft(wish, { number, body, properties: this.#properties(number) })
    })
    const batch = encodeBatch(
      sends.map(({ body, properties }) => {
        return { flag: 0, body, properties: formatProperties(properties) }
      }),
    )
    const request = this.#fill(wish, batch)
    request.properties = ''
    const put = (): void => this.#parts.engine.broker.put.putBatch(request, this.#outcome)
    if (this.#put(put)) this.#accepted(sends, this.#outcome.batchOffsets)
    // Some of it may be in the log all the same.
    else for (const send of sends) ledger.add(send)
  }

  #fill(wish: Wish, body: Buffer): PutRequest {
    const { random, nowMs } = this.#parts
    const request = this.#request
    request.topic = wish.topic
    request.queueId = random.chance(0.5) ? -1 : random.below(2)
    request.wishedQueueCount = 4
    request.bornTimeMs = nowMs()
    request.bornHost = BORN_HOST
    request.body = body
    request.bodyStart = 0
    request.bodyEnd = body.length
    request.nowMs = nowMs()
    return request
  }

  #properties(number: number): Map<string, string> {
    const { random } = this.#parts
    const properties = new Map([
      [PROPERTY_NUMBER, String(number)],
      [PROPERTY.KEYS, `key-${number} other`],
    ])
    if (random.chance(0.5)) properties.set(PROPERTY.TAGS, random.pick(['red', 'green', 'blue']))
    if (random.chance(0.1)) properties.set('text', 'ä€😀'.repeat(1 + random.below(20)))
    return properties
  }

  #draft(
    wish: Wish,
    content: { number: number; body: Buffer; properties: ReadonlyMap<string, string> },
  ): Send {
    return {
      ...content,
      id: `${content.number}/0`,
      kind: wish.kind,
      topic: wish.topic,
      queueId: -1,
      deliverTimeMs: wish.deliverTimeMs,
      acceptOffset: -1,
      sentAtMs: this.#parts.nowMs(),
      calm: this.#parts.ledger.calm,
      isAcknowledged: false,
      isDamaged: false,
      place: undefined,
      isSentBack: false,
      handle: undefined,
      cancels: noCancels(),
      moves: noMoves(),
      late: wish.late,
      droppedOffset: Infinity,
    }
  }

  /** As the doors make it. */
  #handle(): string | undefined {
    const { topic, deliverTimeMs, uniqueKey, commitLogOffset } = this.#outcome
    if (deliverTimeMs < 0) return undefined
    const brokerName = this.#parts.brokerName
    const timerId = commitLogOffset
    return encodeRecallHandle({ topic, brokerName, deliverTimeMs, uniqueKey, timerId })
  }

  /** False when the broker refuses. */
  #put(put: () => void): boolean {
    try {
      put()
      return true
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error
      this.#parts.totals.add(`refused ${error.code}`)
      return false
    }
  }

  #accepted(sends: readonly Send[], offsets: readonly number[]): void {
    const { ledger, totals, answersEarly } = this.#parts
    const { queueId, topicDurable } = this.#outcome
    for (const [index, send] of sends.entries()) {
      send.queueId = queueId
      send.acceptOffset = offsets[index] ?? -1
      send.isAcknowledged = answersEarly
      ledger.add(send)
      totals.add(`sent ${send.kind}`)
    }
    if (topicDurable === undefined) this.#unanswered.push(...sends)
    else topicDurable.then(() => this.#unanswered.push(...sends) && this.#answer(), ignore)
  }

  #answer(): void {
    if (this.#isClosed) return
    const { appliedOffset } = this.#parts.engine.store
    let rest = 0
    for (const send of this.#unanswered) {
      if (send.acceptOffset < appliedOffset) this.#acknowledge(send)
      else this.#unanswered[rest++] = send
    }
    this.#unanswered.length = rest
  }

  #acknowledge(send: Send): void {
    send.isAcknowledged = true
    this.#parts.totals.add(`accepted ${send.kind}`)
  }
}

function ignore(): void {}

/** Mostly small; some have whole sectors of zeros, as a log that was not written has. */
function bodyOf(random: SeededRandom, number: number): Buffer {
  const isLarge = random.chance(0.15)
  const size = isLarge ? 1024 + random.below(11 * 1024) : random.below(600)
  if (random.chance(0.2)) return Buffer.alloc(size)
  return Buffer.alloc(size, `${number} is the number of this message; `)
}
