import { BrokerError } from '../../core/base/index.ts'
import { REQUEST_CODE } from './codes.ts'
import type { SerializeType } from './frame-decoder.ts'
import type { Header } from './header.ts'

/** What the broker needs of a send request's header. Made once and filled again. */
export class SendHeader {
  code = 0
  opaque = 0
  flag = 0
  version = 0
  serializeType: SerializeType = 0
  producerGroup = ''
  topic = ''
  /** How many queues the client wishes for a topic that must be created. */
  defaultTopicQueueNums = 0
  /** Below 0 the broker chooses. */
  queueId = 0
  sysFlag = 0
  bornTimeMs = 0
  userFlag = 0
  /** Encoded properties as sent; empty when there are none. */
  properties = ''
  reconsumeTimes = 0
  maxReconsumeTimes: number | undefined = undefined
  /** True when the body is a batch. */
  batch = false
}

/** Letters of the short names, in the order of `LONG_NAMES`. */
const SHORT_NAMES: readonly string[] = Array.from('abcdefghijklm')

/** Field names of SEND_MESSAGE (10); the position is that of the short name. */
export const LONG_NAMES: readonly string[] = [
  'producerGroup',
  'topic',
  'defaultTopic',
  'defaultTopicQueueNums',
  'queueId',
  'sysFlag',
  'bornTimestamp',
  'flag',
  'properties',
  'reconsumeTimes',
  'unitMode',
  'maxReconsumeTimes',
  'batch',
]

export function isSendCode(code: number): boolean {
  return (
    code === REQUEST_CODE.SEND_MESSAGE_V2 ||
    code === REQUEST_CODE.SEND_MESSAGE ||
    code === REQUEST_CODE.SEND_BATCH_MESSAGE
  )
}

/**
 * Fills `into` from the decoded header of a send request (10, 310 or 320).
 *
 * Throws `PARAMETER_INVALID` with the field's name when one that must be there is missing or is
 * not a number in range. `into` is half filled then.
 */
export function sendHeaderFrom(header: Header, into: SendHeader): void {
  const names = header.code === REQUEST_CODE.SEND_MESSAGE ? LONG_NAMES : SHORT_NAMES
  const fields = new SendFields(header.extFields, names)
  into.code = header.code
  into.opaque = header.opaque
  into.flag = header.flag
  into.version = header.version
  into.serializeType = header.serializeType
  into.producerGroup = fields.text(0)
  into.topic = fields.text(1)
  fields.text(2)
  into.defaultTopicQueueNums = fields.int32(3)
  into.queueId = fields.int32(4)
  into.sysFlag = fields.int32(5)
  into.bornTimeMs = fields.integer(6)
  into.userFlag = fields.int32(7)
  into.properties = fields.optional(8) ?? ''
  into.reconsumeTimes = fields.optional(9) === undefined ? 0 : fields.int32(9)
  into.maxReconsumeTimes = fields.optional(11) === undefined ? undefined : fields.int32(11)
  into.batch =
    header.code === REQUEST_CODE.SEND_BATCH_MESSAGE || fields.optional(12)?.toLowerCase() === 'true'
}

class SendFields {
  readonly #fields: Readonly<Record<string, string>>
  readonly #names: readonly string[]

  constructor(fields: Readonly<Record<string, string>>, names: readonly string[]) {
    this.#fields = fields
    this.#names = names
  }

  optional(index: number): string | undefined {
    return this.#fields[this.#names[index] ?? '']
  }

  text(index: number): string {
    const value = this.optional(index)
    if (value === undefined) throw this.#invalid(index, 'missing')
    return value
  }

  int32(index: number): number {
    const value = this.integer(index)
    if ((value | 0) !== value) throw this.#invalid(index, 'out of range')
    return value
  }

  integer(index: number): number {
    const text = this.text(index)
    const value = /^-?\d{1,19}$/.test(text) ? Number(text) : Number.NaN
    if (!Number.isSafeInteger(value)) throw this.#invalid(index, 'not a whole number in range')
    // Adding 0 turns -0 into 0.
    return value + 0
  }

  #invalid(index: number, problem: string): BrokerError {
    const field = LONG_NAMES[index] ?? ''
    return new BrokerError('PARAMETER_INVALID', { field, problem })
  }
}
