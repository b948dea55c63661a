import { writeInt32 } from '../../core/base/index.ts'
import type { RecallHandle } from '../message/index.ts'
import { WIRE_VERSION } from './encode.ts'

/** What the answer to one accepted send says. One object may be filled again for all. */
export interface SendAnswer {
  opaque: number
  queueId: number
  queueOffset: number
  /** Of the record: its place in the message id. */
  commitLogOffset: number
  /** Of a timer message, with its `timerId`. */
  handle: RecallHandle | undefined
}

/** Room that `SendAnswerWriter.write` needs in its target, in bytes. */
export const SEND_ANSWER_BYTES_MAX = 1024

const PREFIX_BYTES = 8
/** The frame with its numbers at their longest, beside what the constructor gets and the handle. */
const FIXED_BYTES_MAX = 340
/** What a handle holds beside its three texts: version, two numbers, blanks. */
const HANDLE_FIXED_BYTES = 40

const QUEUE_ID = bytesOf('","queueId":"')
const QUEUE_OFFSET = bytesOf('","queueOffset":"')
const RECALL_HANDLE = bytesOf('","recallHandle":"')
const OPAQUE = bytesOf('"},"flag":1,"language":"JAVA","opaque":')
const END = bytesOf(`,"serializeTypeCurrentRPC":"JSON","version":${WIRE_VERSION}}`)
const HEX_DIGITS = bytesOf('0123456789ABCDEF')
const BASE64URL = bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const HANDLE_START = bytesOf('v1 ')

const BLANK = 0x20
const MINUS = 0x2d
const ZERO = 0x30
const PAD = 0x3d
const LAST_ASCII = 0x7e
const TWO_POW_32 = 0x1_0000_0000
const BILLION = 1_000_000_000

/**
 * Writes the answers to sends, straight as bytes: the last step of the way of a message in, which
 * must be fast. They say what those of `encodeSendResponseFrame` say, in another order.
 */
export class SendAnswerWriter {
  readonly #start: Buffer
  readonly #handleBytesMax: number
  readonly #scratch = Buffer.alloc(SEND_ANSWER_BYTES_MAX)

  constructor(parts: {
    readonly regionId: string
    /** Upper-case hex of IP and port; see `storeHostHex`. */
    readonly storeHostHex: string
  }) {
    const region = JSON.stringify(parts.regionId)
    this.#start = bytesOf(
      `{"code":0,"extFields":{"MSG_REGION":${region},"TRACE_ON":"true","msgId":"${parts.storeHostHex}`,
    )
    this.#handleBytesMax = SEND_ANSWER_BYTES_MAX - FIXED_BYTES_MAX - this.#start.length
  }

  /**
   * Writes a success frame with a JSON header into `target`; returns the position behind it.
   *
   * Returns `position` itself when the handle is too long or not ASCII: use
   * `encodeSendResponseFrame` then.
   */
  write(target: Buffer, position: number, answer: SendAnswer): number {
    const { handle } = answer
    let handleBytes = 0
    if (handle !== undefined) {
      handleBytes = this.#composeHandle(handle)
      if (handleBytes === 0) return position
    }
    let end = copy(target, position + PREFIX_BYTES, this.#start)
    end = writeHex64(target, end, answer.commitLogOffset)
    end = copy(target, end, QUEUE_ID)
    end = writeDecimal(target, end, answer.queueId)
    end = copy(target, end, QUEUE_OFFSET)
    end = writeDecimal(target, end, answer.queueOffset)
    if (handleBytes > 0) {
      end = copy(target, end, RECALL_HANDLE)
      end = writeBase64Url(target, end, this.#scratch, handleBytes)
    }
    end = copy(target, end, OPAQUE)
    end = writeDecimal(target, end, answer.opaque)
    end = copy(target, end, END)
    const headerBytes = end - position - PREFIX_BYTES
    writeInt32(target, 4 + headerBytes, position)
    writeInt32(target, headerBytes, position + 4)
    return end
  }

  /** As `encodeRecallHandle` has it, before base64; returns its bytes, 0 when it cannot be. */
  #composeHandle(handle: RecallHandle): number {
    const { topic, brokerName, uniqueKey, timerId } = handle
    const textBytes = topic.length + brokerName.length + uniqueKey.length
    const base64Bytes = Math.ceil((textBytes + HANDLE_FIXED_BYTES) / 3) * 4
    if (base64Bytes > this.#handleBytesMax) return 0
    const scratch = this.#scratch
    let end = copy(scratch, 0, HANDLE_START)
    end = writeWord(scratch, end, topic)
    end = end === 0 ? 0 : writeWord(scratch, end, brokerName)
    if (end === 0) return 0
    end = writeDecimal(scratch, end, handle.deliverTimeMs)
    scratch[end] = BLANK
    end = writeWord(scratch, end + 1, uniqueKey)
    if (end === 0) return 0
    return timerId === undefined ? end - 1 : writeDecimal(scratch, end, timerId)
  }
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text)
}

/** `set` is several times faster than a loop, and faster than `copy`, at these sizes. */
function copy(target: Buffer, position: number, source: Buffer): number {
  target.set(source, position)
  return position + source.length
}

/** An ASCII text and a blank; 0 when the text is not ASCII. */
function writeWord(target: Buffer, position: number, text: string): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > LAST_ASCII) return 0
    target[position + index] = unit
  }
  target[position + text.length] = BLANK
  return position + text.length + 1
}

function writeHex64(target: Buffer, position: number, value: number): number {
  const high = Math.floor(value / TWO_POW_32)
  writeHex32(target, position, high)
  writeHex32(target, position + 8, value - high * TWO_POW_32)
  return position + 16
}

function writeHex32(target: Buffer, position: number, value: number): void {
  for (let index = 0; index < 8; index++) {
    target[position + index] = HEX_DIGITS[(value >>> (28 - index * 4)) & 0xf] ?? 0
  }
}

/** A safe integer in decimal digits. */
function writeDecimal(target: Buffer, position: number, value: number): number {
  if (value < 0) {
    target[position] = MINUS
    return writeDecimal(target, position + 1, -value)
  }
  if (value < BILLION) return writeDigits(target, position, value, digitCount(value))
  const high = Math.floor(value / BILLION)
  const end = writeDecimal(target, position, high)
  return writeDigits(target, end, value - high * BILLION, 9)
}

function digitCount(value: number): number {
  let count = 1
  let limit = 10
  while (value >= limit) {
    count++
    limit *= 10
  }
  return count
}

/** `value` is below a billion: 32-bit arithmetic does. */
function writeDigits(target: Buffer, position: number, value: number, count: number): number {
  let rest = value | 0
  for (let index = position + count - 1; index >= position; index--) {
    const quotient = (rest / 10) | 0
    target[index] = ZERO + rest - quotient * 10
    rest = quotient
  }
  return position + count
}

/** Padded, as Apache's handles are. */
function writeBase64Url(
  target: Buffer,
  position: number,
  source: Buffer,
  sizeBytes: number,
): number {
  let end = position
  for (let index = 0; index < sizeBytes; index += 3) {
    const second = index + 1 < sizeBytes ? (source[index + 1] ?? 0) : 0
    const third = index + 2 < sizeBytes ? (source[index + 2] ?? 0) : 0
    const bits = ((source[index] ?? 0) << 16) | (second << 8) | third
    target[end] = BASE64URL[bits >>> 18] ?? 0
    target[end + 1] = BASE64URL[(bits >>> 12) & 0x3f] ?? 0
    target[end + 2] = BASE64URL[(bits >>> 6) & 0x3f] ?? 0
    target[end + 3] = BASE64URL[bits & 0x3f] ?? 0
    end += 4
  }
  const rest = sizeBytes % 3
  if (rest === 1) target[end - 2] = PAD
  if (rest !== 0) target[end - 1] = PAD
  return end
}
