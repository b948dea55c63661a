import {
  deadLetterTopic,
  decodeRecallHandle,
  findProperty,
  type Message,
  PROPERTY,
} from '../../src/model/message/index.ts'
import { Violation } from './violation.ts'

export type SendKind = 'plain' | 'batch' | 'level' | 'timer' | 'retry' | 'dead-letter'

/** Names a message through all its lives: sent, published, sent back. */
export const PROPERTY_NUMBER = 'SIM'

/** Later than that is not on time: something held it up. */
const ON_TIME_MS = 1_000
/** A message must be there for so long before it is due to take its place in the order. */
const KNOWN_BEFORE_MS = 500

/** One message that somebody has sent, and what must become of it. */
export interface Send {
  /** Number of the message, and how often it was sent back before. */
  readonly id: string
  readonly number: number
  readonly kind: SendKind
  readonly topic: string
  /** -1: the broker chose and has not told. */
  queueId: number
  readonly body: Buffer
  /** Properties that must arrive as they are. */
  readonly properties: ReadonlyMap<string, string>
  /** Not before this time by the broker's clock; 0 for messages without a delay. */
  deliverTimeMs: number
  /** Commit log offset of the record that accepted it; -1 when it is not known. */
  acceptOffset: number
  readonly sentAtMs: number
  /** `Ledger.calm` when it was sent. */
  readonly calm: number
  isAcknowledged: boolean
  /** Bits of one of its records went bad: it may be missing, or come again. */
  isDamaged: boolean
  /** Where it can be read, once it can. */
  place: Place | undefined
  /** Was sent back already. */
  isSentBack: boolean
  /** What its send was answered with, if it waits in the ladder. */
  handle: string | undefined
  readonly cancels: Cancels
  readonly moves: Moves
  /** What must become of it when it is late. */
  readonly late: LatePolicy | undefined
  /** Log offset of the record that it was dropped; Infinity: it was not. */
  droppedOffset: number
}

export interface LatePolicy {
  readonly onLate: 'drop' | 'deadLetter'
  readonly lateAfterMs: number
}

/** What was asked of a message that waits. */
export interface Cancels {
  /** Of those that got no answer, in this life of the process or an earlier one. */
  unansweredCount: number
  /** Log offset below which the cancel lies that was answered `cancelled`; Infinity: none was. */
  doneOffset: number
}

/** Other deliver times that were asked for. */
export interface Moves {
  /** Of moves that were not answered: one of them may have been made, or none. */
  mayBeDueMs: number[]
  /** It was moved, or may have been: it has another timer id than it was accepted with. */
  isPossible: boolean
}

export function noCancels(): Cancels {
  return { unansweredCount: 0, doneOffset: Infinity }
}

export function noMoves(): Moves {
  return { mayBeDueMs: [], isPossible: false }
}

/** Before that time it must not be delivered. */
export function earliestMs({ deliverTimeMs, moves }: Send): number {
  return Math.min(deliverTimeMs, ...moves.mayBeDueMs)
}

/** Damage of the record that moved it takes the move back: it has an earlier time again. */
function mayBeMovedBack({ isDamaged, moves }: Send): boolean {
  return isDamaged && moves.isPossible
}

/** Nobody has seen it delivered, dropped or as a dead letter. */
export function isUnseen({ place, droppedOffset }: Send): boolean {
  return place === undefined && droppedOffset === Infinity
}

/** It must not be delivered any more. */
export function isCancelled({ cancels }: Send): boolean {
  return cancels.doneOffset < Infinity
}

/** A message that a reader has seen. */
export interface Place {
  readonly send: Send
  readonly topic: string
  readonly queueId: number
  readonly queueOffset: number
  readonly commitLogOffset: number
  readonly storeTimeMs: number
  readonly reconsumeTimes: number
  /** The record's checksum, in digits. */
  readonly seal: string
  /** Retention has taken it since. */
  isRemoved: boolean
  /** The clock went back since: its store time tells nothing of its age. */
  isUndated: boolean
  /** The last round of reading everything in which it was there. */
  round: number
}

export interface QueueKnowledge {
  readonly topic: string
  readonly queueId: number
  /** By queue offset; a hole where a record was damaged. */
  readonly places: (Place | undefined)[]
  /** The last timer message that was delivered in calm. */
  lastCalm: Send | undefined
}

/** All that the senders and readers of one simulated world know. */
export class Ledger {
  readonly sends = new Map<string, Send>()
  readonly queues = new Map<string, QueueKnowledge>()
  /** Latest time that any clock of the world has shown. */
  latestTimeMs = 0
  /** By the broker's clock, when the latest message was read. */
  nowMs = 0
  /** Changes with whatever may change the order of delivery. */
  calm = 0
  /** Budgets are so large that none of them holds up a message. */
  readonly #isRoomy: boolean
  /** How often the order of two timer messages of a queue was judged. */
  orderCount = 0
  /** Messages that were dropped because they were late. */
  dropCount = 0
  /** Messages that became dead letters because they were late. */
  letterCount = 0
  /** Counts how often everything was read. */
  round = 0
  readonly #timerIds = new Map<string, Send>()
  #nextNumber = 1

  constructor(isRoomy: boolean) {
    this.#isRoomy = isRoomy
  }

  nextNumber(): number {
    return this.#nextNumber++
  }

  add(send: Send): void {
    this.sends.set(send.id, send)
  }

  queue(topic: string, queueId: number): QueueKnowledge {
    const key = `${topic}/${queueId}`
    let known = this.queues.get(key)
    if (known === undefined) {
      known = { topic, queueId, places: [], lastCalm: undefined }
      this.queues.set(key, known)
    }
    return known
  }

  /** Sends that are accepted, were not seen in their topic yet, and must be. */
  waiting(): Send[] {
    return [...this.sends.values()].filter(send => {
      const isOpen = !isCancelled(send) && send.cancels.unansweredCount === 0
      return send.isAcknowledged && isUnseen(send) && isOpen
    })
  }

  /** True when a reader got what it had got at this place before, by its checksum. */
  isSeenAgain(
    queue: { readonly topic: string; readonly queueId: number },
    queueOffset: number,
    seal: string,
  ): boolean {
    const place = this.queue(queue.topic, queue.queueId).places[queueOffset]
    if (place?.seal !== seal) return false
    place.round = this.round
    return true
  }

  /** A reader got this message, with this checksum. */
  seen(message: Message, seal: string): void {
    const { queueOffset, topic, queueId, commitLogOffset } = message
    const queue = this.queue(topic, queueId)
    const at = `${topic}/${queueId}/${queueOffset}`
    const send = this.#sendOf(message, at)
    const known = queue.places[queueOffset]
    if (known !== undefined && known.commitLogOffset === commitLogOffset) {
      if (known.send !== send) {
        throw new Violation(10, `${at} was ${known.send.id} and is ${send.id}`)
      }
      known.round = this.round
      return
    }
    if (known !== undefined && !known.send.isDamaged) {
      throw new Violation(10, `${at} was ${known.send.id} and is ${send.id} now`)
    }
    this.#checkOnce(send, at)
    checkLate(send, message, at)
    if (isLateLetter(message)) this.letterCount++
    checkNotCancelled(send, at)
    checkContent(send, message, at)
    checkTime(send, message, { at, latestTimeMs: this.latestTimeMs })
    this.#checkTimerId(send, message, at)
    checkOrder(queue, message, at)
    this.#checkCalmOrder(queue, send, message)
    const place = {
      send,
      topic,
      queueId,
      queueOffset,
      commitLogOffset,
      storeTimeMs: message.storeTimeMs,
      reconsumeTimes: message.reconsumeTimes,
      seal,
      isRemoved: false,
      isUndated: message.storeTimeMs > this.nowMs,
      round: this.round,
    }
    queue.places[queueOffset] = place
    send.place = place
  }

  /** A reader got the record that a message was dropped. */
  dropped(record: Message): void {
    const key = record.properties.get(PROPERTY.UNIQ_KEY)
    const at = `the drop at ${record.commitLogOffset}`
    const send = [...this.sends.values()].find(candidate => uniqueKeyOf(candidate) === key)
    if (send === undefined) throw new Violation(1, `${at} is of a message that nobody sent`)
    if (send.droppedOffset === record.commitLogOffset) return
    if (send.isDamaged) {
      // Perhaps again, or although it was moved.
      send.droppedOffset = record.commitLogOffset
      return
    }
    if (send.droppedOffset < Infinity) throw new Violation(3, `${at}: ${describe(send)}, again`)
    this.#checkOnce(send, at)
    checkNotCancelled(send, at)
    const isLate = record.storeTimeMs - earliestMs(send) > (send.late?.lateAfterMs ?? Infinity)
    if (send.late?.onLate !== 'drop' || !isLate) {
      throw new Violation(1, `${at}: ${describe(send)} at ${record.storeTimeMs}`)
    }
    send.droppedOffset = record.commitLogOffset
    this.dropCount++
  }

  /** The clock goes back. */
  undate(): void {
    for (const { places } of this.queues.values()) {
      for (const place of places) if (place !== undefined) place.isUndated = true
    }
  }

  /** With asynchronous flush a power cut may take back what was not synced. */
  forgetFrom(logOffset: number): void {
    for (const send of this.sends.values()) {
      if (send.acceptOffset >= logOffset || send.acceptOffset < 0) send.isAcknowledged = false
      // The hole may have the move and not the delivery: it comes again.
      if (send.moves.isPossible) send.isDamaged = true
      if (isCancelled(send) && send.cancels.doneOffset > logOffset) {
        send.cancels.doneOffset = Infinity
        send.cancels.unansweredCount++
      }
      const isDropped = send.droppedOffset < Infinity && send.droppedOffset >= logOffset
      const isPlaced = send.place !== undefined && send.place.commitLogOffset >= logOffset
      // It waits again, and a cancel by filter that the hole has may mean it now.
      if (isDropped || isPlaced) send.cancels.unansweredCount++
      if (isDropped) send.droppedOffset = Infinity
      if (isPlaced) {
        send.place = undefined
        this.#timerIds.forEach((owner, key) => {
          if (owner === send) this.#timerIds.delete(key)
        })
      }
    }
    for (const { places } of this.queues.values()) {
      while ((places.at(-1)?.commitLogOffset ?? Infinity) >= logOffset && places.length > 0) {
        places.pop()
      }
    }
  }

  /** Timer messages that nothing has disturbed come in the order of (deliver time, id). */
  #checkCalmOrder(queue: QueueKnowledge, send: Send, message: Message): void {
    const isOnTime = message.storeTimeMs - send.deliverTimeMs <= ON_TIME_MS
    const isKnownBefore = send.deliverTimeMs - send.sentAtMs >= KNOWN_BEFORE_MS
    const isUntouched = !send.isDamaged && !send.moves.isPossible
    const isCalm = send.calm === this.calm && send.kind === 'timer' && isUntouched
    if (!this.#isRoomy || !isCalm || !isOnTime || !isKnownBefore) return
    const last = queue.lastCalm
    queue.lastCalm = send
    if (last === undefined || last.calm !== this.calm) return
    this.orderCount++
    const order = last.deliverTimeMs - send.deliverTimeMs || last.acceptOffset - send.acceptOffset
    if (order > 0) throw new Violation(12, `${describe(send)} came behind ${describe(last)}`)
  }

  #sendOf(message: Message, at: string): Send {
    const number = message.properties.get(PROPERTY_NUMBER) ?? ''
    const send = this.sends.get(`${number}/${message.reconsumeTimes}`)
    if (send !== undefined) return send
    throw new Violation(1, `${at} holds a message that nobody sent: ${number}`)
  }

  #checkOnce(send: Send, at: string): void {
    const { place } = send
    if (place === undefined || send.isDamaged) return
    const first = `${place.topic}/${place.queueId}/${place.queueOffset}`
    const log = `log offset ${place.commitLogOffset}, accepted at ${send.acceptOffset}`
    throw new Violation(3, `${describe(send)} is there twice: ${first} (${log}) and ${at}`)
  }

  #checkTimerId(send: Send, message: Message, at: string): void {
    const id = message.properties.get(PROPERTY.ORRERY_TIMER_ID)
    const isHeld = send.deliverTimeMs > 0
    if (!isHeld && id === undefined) return
    if (!isHeld || id === undefined) {
      if (message.commitLogOffset === send.acceptOffset) return
      throw new Violation(3, `${at}: ${describe(send)} has the timer id ${id}`)
    }
    const isMoved = send.moves.isPossible
    if (!isMoved && send.acceptOffset >= 0 && Number(id) !== send.acceptOffset) {
      throw new Violation(3, `${at}: ${describe(send)} has the timer id ${id}`)
    }
    const owner = this.#timerIds.get(id)
    if (owner !== undefined && owner !== send) {
      throw new Violation(3, `${at}: timer id ${id} of ${describe(send)} and ${describe(owner)}`)
    }
    this.#timerIds.set(id, send)
  }
}

export function describe(send: Send): string {
  const where = `${send.topic}/${send.queueId}`
  return `${send.kind} ${send.id} for ${where}, due ${send.deliverTimeMs}, log ${send.acceptOffset}`
}

/** A reader may have seen it before the answer that moved it. */
export function checkNotBefore(send: Send): void {
  const { place } = send
  if (place === undefined || send.isDamaged || place.storeTimeMs >= earliestMs(send)) return
  throw new Violation(4, `${describe(send)} was moved, and is delivered at ${place.storeTimeMs}`)
}

export function checkNotCancelled(send: Send, at: string): void {
  if (!isCancelled(send) || send.isDamaged) return
  throw new Violation(4, `${at}: ${describe(send)} was cancelled and is delivered`)
}

function checkContent(send: Send, message: Message, at: string): void {
  const isLate = isLateLetter(message)
  if (message.topic !== (isLate ? deadLetterTopic(send.topic) : send.topic)) {
    throw new Violation(1, `${at}: ${send.id} in a wrong topic`)
  }
  if (!isLate && send.queueId >= 0 && message.queueId !== send.queueId) {
    throw new Violation(1, `${at}: ${describe(send)} is in a wrong queue`)
  }
  if (!message.body.equals(send.body)) throw new Violation(1, `${at}: the body of ${send.id}`)
  for (const [name, value] of send.properties) {
    if (message.properties.get(name) !== value) {
      throw new Violation(1, `${at}: property ${name} of ${send.id} is not as sent`)
    }
  }
  if (message.properties.get(PROPERTY.UNIQ_KEY) === undefined) {
    throw new Violation(1, `${at}: ${send.id} has no unique key`)
  }
}

function isLateLetter(message: Message): boolean {
  return message.properties.get(PROPERTY.ORRERY_DEAD_LETTER_REASON) === 'late'
}

/** It is where its policy wants it, by the broker's clock when it was delivered. */
function checkLate(send: Send, message: Message, at: string): void {
  if (send.droppedOffset < Infinity && !send.isDamaged) {
    throw new Violation(3, `${at}: ${describe(send)} was dropped before`)
  }
  const isLetter = isLateLetter(message)
  const { late, moves } = send
  if (!isLetter && (late === undefined || moves.isPossible)) return
  if (mayBeMovedBack(send)) return
  const isLate = message.storeTimeMs - earliestMs(send) > (late?.lateAfterMs ?? Infinity)
  if (isLetter ? isLate && late?.onLate === 'deadLetter' : !isLate) return
  throw new Violation(1, `${at}: ${describe(send)} is there at ${message.storeTimeMs}`)
}

function uniqueKeyOf({ handle, properties }: Send): string | undefined {
  const given = properties.get(PROPERTY.UNIQ_KEY)
  return given ?? (handle === undefined ? undefined : decodeRecallHandle(handle)?.uniqueKey)
}

function checkTime(
  send: Send,
  message: Message,
  known: { readonly at: string; readonly latestTimeMs: number },
): void {
  const { storeTimeMs } = message
  if (storeTimeMs < earliestMs(send) && !mayBeMovedBack(send)) {
    throw new Violation(2, `${known.at}: ${describe(send)} was published at ${storeTimeMs}`)
  }
  if (storeTimeMs > known.latestTimeMs) {
    throw new Violation(2, `${known.at}: ${send.id} has a store time that never was`)
  }
}

/** Queue order is log order. */
function checkOrder(queue: QueueKnowledge, message: Message, at: string): void {
  const before = queue.places[message.queueOffset - 1]
  const after = queue.places[message.queueOffset + 1]
  if (before !== undefined && before.commitLogOffset >= message.commitLogOffset) {
    throw new Violation(1, `${at} lies before the message that it follows`)
  }
  if (after !== undefined && after.commitLogOffset <= message.commitLogOffset) {
    throw new Violation(1, `${at} lies behind the message that it precedes`)
  }
}

/** Number and count of sends back, of a record. */
export function idOf(properties: string, reconsumeTimes: number): string {
  return `${findProperty(properties, PROPERTY_NUMBER) ?? ''}/${reconsumeTimes}`
}
