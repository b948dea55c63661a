/** What a recall handle says. With `timerId` it is also the id of a scheduled message. */
export interface RecallHandle {
  readonly topic: string
  readonly brokerName: string
  readonly deliverTimeMs: number
  readonly uniqueKey: string
  /** Commit log offset of the accept record. Apache's handles do not have it. */
  readonly timerId?: number
}

const VERSION = 'v1'
/** Longer than any that we make: properties, and the unique key in them, have 32,767 bytes. */
const HANDLE_LENGTH_MAX = 65_536
const CANONICAL_NUMBER = /^(?:0|[1-9]\d{0,15})$/

/**
 * base64url, padded, of `v1 topic brokerName deliverTimeMs uniqueKey [timerId]`.
 *
 * No field may be empty or contain a blank: such a handle cannot be decoded again.
 */
export function encodeRecallHandle(handle: RecallHandle): string {
  const { topic, brokerName, deliverTimeMs, uniqueKey, timerId } = handle
  const five = `${VERSION} ${topic} ${brokerName} ${deliverTimeMs} ${uniqueKey}`
  return encodeBase64Url(timerId === undefined ? five : `${five} ${timerId}`)
}

/** Undefined unless `text` is, to the last character, what `encodeRecallHandle` makes. */
export function decodeRecallHandle(text: string): RecallHandle | undefined {
  if (text.length > HANDLE_LENGTH_MAX) return undefined
  const plain = Buffer.from(text, 'base64url').toString()
  if (encodeBase64Url(plain) !== text) return undefined
  const fields = plain.split(' ')
  if (fields.length !== 5 && fields.length !== 6) return undefined
  const [version, topic = '', brokerName = '', deliverTime = '', uniqueKey = '', timer] = fields
  const deliverTimeMs = parseNumber(deliverTime)
  if (version !== VERSION || deliverTimeMs === undefined) return undefined
  if (topic === '' || brokerName === '' || uniqueKey === '') return undefined
  if (timer === undefined) return { topic, brokerName, deliverTimeMs, uniqueKey }
  const timerId = parseNumber(timer)
  if (timerId === undefined) return undefined
  return { topic, brokerName, deliverTimeMs, uniqueKey, timerId }
}

const PADDING = ['', '', '==', '='] as const

function encodeBase64Url(text: string): string {
  const unpadded = Buffer.from(text).toString('base64url')
  return unpadded + (PADDING[unpadded.length & 3] ?? '')
}

function parseNumber(text: string): number | undefined {
  if (!CANONICAL_NUMBER.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}
