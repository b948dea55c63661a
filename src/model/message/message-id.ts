import { assert } from '../../core/base/index.ts'
import type { Clock, Random } from '../../core/platform/index.ts'
import { decodeHost, type Host } from './host.ts'

/** Where a message lies, as its id tells. */
export interface OffsetMessageId {
  readonly storeHost: Host
  readonly commitLogOffset: number
}

/** The part of `offsetMessageId` that does not change: IP and port in upper-case hex. */
export function storeHostHex(host: Buffer): string {
  return host.toString('hex').toUpperCase()
}

/** The id that the broker gives: 32 characters, or 56 with an IPv6 host. */
export function offsetMessageId(hostHex: string, commitLogOffset: number): string {
  return hostHex + commitLogOffset.toString(16).toUpperCase().padStart(16, '0')
}

/** Undefined for what is not such an id. Any 32 hex digits look like one: also a unique key. */
export function parseOffsetMessageId(text: string): OffsetMessageId | undefined {
  if (text.length !== 32 && text.length !== 56) return undefined
  if (!/^[\dA-F]+$/i.test(text)) return undefined
  const commitLogOffset = Number.parseInt(text.slice(-16), 16)
  if (!Number.isSafeInteger(commitLogOffset)) return undefined
  return { storeHost: decodeHost(Buffer.from(text.slice(0, -16), 'hex')), commitLogOffset }
}

const PREFIX_SIZE_BYTES = 10

/**
 * Makes unique keys (UNIQ_KEY) in RocketMQ's form: 32 upper-case hex digits, of which the first
 * 20 are fixed, the next 8 the milliseconds since the first of the month in local time, where
 * tools look for the time of sending, and the last 4 a counter.
 *
 * The fixed part is random instead of IP and process id, and drawn again whenever the time in the
 * key could repeat: in a new month, or when the clock goes back.
 */
export class UniqueKeys {
  readonly #random: Random
  readonly #clock: Clock
  #monthStartMs = 0
  #monthEndMs = 0
  #timeMs = -1
  #prefix = ''
  #counter = 0

  constructor(random: Random, clock: Clock) {
    this.#random = random
    this.#clock = clock
  }

  next(): string {
    const timeMs = this.#clock.timeMs()
    if (timeMs !== this.#timeMs) this.#setTime(timeMs)
    this.#counter = (this.#counter + 1) & 0xffff
    return (
      this.#prefix + (COUNTERS[this.#counter >>> 8] ?? '') + (COUNTERS[this.#counter & 0xff] ?? '')
    )
  }

  #setTime(timeMs: number): void {
    if (timeMs < this.#timeMs || timeMs >= this.#monthEndMs) this.#renew(timeMs)
    this.#timeMs = timeMs
    const sinceMonthStartMs = timeMs - this.#monthStartMs
    const time = sinceMonthStartMs.toString(16).toUpperCase().padStart(8, '0')
    assert(time.length === 8, 'a month must fit into 32 bits of milliseconds')
    this.#prefix = this.#prefix.slice(0, PREFIX_SIZE_BYTES * 2) + time
  }

  #renew(timeMs: number): void {
    const date = new Date(timeMs)
    this.#monthStartMs = new Date(date.getFullYear(), date.getMonth(), 1).getTime()
    this.#monthEndMs = new Date(date.getFullYear(), date.getMonth() + 1, 1).getTime()
    this.#prefix = this.#random.bytes(PREFIX_SIZE_BYTES).toString('hex').toUpperCase()
  }
}

const COUNTERS: readonly string[] = Array.from({ length: 256 }, (_, value) =>
  value.toString(16).toUpperCase().padStart(2, '0'),
)
