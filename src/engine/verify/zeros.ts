const ZEROS = Buffer.alloc(64 * 1024)

/** Whether the bytes from `start` up to `end` are all zero. */
export function isZero(source: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += ZEROS.length) {
    const length = Math.min(ZEROS.length, end - at)
    if (source.compare(ZEROS, 0, length, at, at + length) !== 0) return false
  }
  return true
}

/** Position of the first byte that is not zero, from `start` up to `end`; `end` when there is none. */
export function firstNonZero(source: Buffer, start: number, end: number): number {
  let at = start
  while (end - at > ZEROS.length && isZero(source, at, at + ZEROS.length)) at += ZEROS.length
  while (at < end && source[at] === 0) at++
  return at
}

/** Behind the last byte that is not zero; `start` when there is none. */
export function endOfNonZero(source: Buffer, start: number, end: number): number {
  let at = end
  while (at - start > ZEROS.length && isZero(source, at - ZEROS.length, at)) at -= ZEROS.length
  while (at > start && source[at - 1] === 0) at--
  return at
}
