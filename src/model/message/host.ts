import { assert, BrokerError } from '../../core/base/index.ts'

/** An address as a record holds it: IP and port. */
export interface Host {
  readonly host: string
  readonly port: number
}

/** 4 bytes of IPv4 and a 32-bit port. */
export const IPV4_HOST_SIZE_BYTES = 8
/** 16 bytes of IPv6 and a 32-bit port. */
export const IPV6_HOST_SIZE_BYTES = 20

const V4_IN_V6_PREFIX = '00000000000000000000ffff'

/**
 * 8 bytes for IPv4 (also when it comes mapped into IPv6), 20 for IPv6. A zone is left out.
 *
 * Errors: PARAMETER_INVALID when `host` is not an IP address or `port` not 0 to 65535.
 */
export function encodeHost(host: string, port: number): Buffer {
  const address = parseIpv4(host) ?? parseIpv6(host)
  if (address === undefined) throw new BrokerError('PARAMETER_INVALID', { host })
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new BrokerError('PARAMETER_INVALID', { port })
  }
  const bytes = Buffer.alloc(address.length + 4)
  address.copy(bytes)
  bytes.writeInt32BE(port, address.length)
  return bytes
}

/** Reads 8 or 20 bytes as `encodeHost` writes them. */
export function decodeHost(bytes: Buffer): Host {
  assert(
    bytes.length === IPV4_HOST_SIZE_BYTES || bytes.length === IPV6_HOST_SIZE_BYTES,
    'a host has 8 or 20 bytes',
  )
  const addressSize = bytes.length - 4
  const port = bytes.readInt32BE(addressSize)
  if (addressSize === 4) return { host: bytes.subarray(0, 4).join('.'), port }
  return { host: formatIpv6(bytes), port }
}

function parseIpv4(host: string): Buffer | undefined {
  const parts = host.split('.')
  if (parts.length !== 4) return undefined
  const address = Buffer.alloc(4)
  for (const [index, part] of parts.entries()) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined
    address[index] = Number(part)
  }
  return address
}

function parseIpv6(host: string): Buffer | undefined {
  const zoneStart = host.indexOf('%')
  const text = v4TailAsHex(zoneStart < 0 ? host : host.slice(0, zoneStart))
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] ?? '')
  const tail = groupsOf(halves[1] ?? '')
  const missing = 8 - head.length - tail.length
  // "::" stands for at least one group.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail]
  if (!groups.every(group => /^[\da-f]{1,4}$/i.test(group))) return undefined
  const address = Buffer.from(groups.map(group => group.padStart(4, '0')).join(''), 'hex')
  return address.toString('hex', 0, 12) === V4_IN_V6_PREFIX ? address.subarray(12) : address
}

/** `::ffff:1.2.3.4` to `::ffff:0102:0304`; anything else stays as it is. */
function v4TailAsHex(text: string): string {
  const tailStart = text.lastIndexOf(':') + 1
  const tail = parseIpv4(text.slice(tailStart))
  if (tail === undefined || tailStart === 0) return text
  return `${text.slice(0, tailStart)}${tail.toString('hex', 0, 2)}:${tail.toString('hex', 2, 4)}`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function formatIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  const [start, count] = longestZeros(groups)
  if (count < 2) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + count).join(':')}`
}

function longestZeros(groups: readonly string[]): readonly [start: number, count: number] {
  let best: readonly [number, number] = [0, 0]
  let count = 0
  for (const [index, group] of groups.entries()) {
    count = group === '0' ? count + 1 : 0
    if (count > best[1]) best = [index + 1 - count, count]
  }
  return best
}
