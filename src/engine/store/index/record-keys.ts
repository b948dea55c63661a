import { javaHash, PROPERTY } from '../../../model/message/index.ts'

const NAME_END = 1
const PAIR_END = 2
const SPACE = 0x20
const ASCII_MAX = 0x7f

const UNIQUE_KEY = Buffer.from(`${PROPERTY.UNIQ_KEY}\u0001`)
const KEYS = Buffer.from(`${PROPERTY.KEYS}\u0001`)
const REAL_TOPIC = Buffer.from(`${PROPERTY.REAL_TOPIC}\u0001`)
/** Length of the shortest of them. */
const STEP = KEYS.length
const SKIPS = skipsOf([UNIQUE_KEY, KEYS, REAL_TOPIC])

/**
 * For each byte, how far ahead the nearest end of one of the names can be, as Horspool's search has
 * it: most bytes of the properties are never looked at.
 */
function skipsOf(names: readonly Buffer[]): Uint8Array {
  const skips = new Uint8Array(256).fill(STEP)
  for (const name of names) {
    for (let distance = STEP - 1; distance > 0; distance--) {
      const byte = name[name.length - 1 - distance] ?? 0
      skips[byte] = Math.min(skips[byte] ?? 0, distance)
    }
  }
  return skips
}

/**
 * Where in a record's properties the values lie by which a message is found. Read from the bytes,
 * without a string; one object that is filled again for each record. As with `findProperty` the
 * last of several counts, and an empty one does not: start and end are equal then.
 */
export class RecordKeys {
  uniqueKeyStart = 0
  uniqueKeyEnd = 0
  keysStart = 0
  keysEnd = 0
  realTopicStart = 0
  realTopicEnd = 0

  /** Looks through the encoded properties from `start` to `end`. */
  read(source: Buffer, start: number, end: number): void {
    this.uniqueKeyEnd = this.uniqueKeyStart = 0
    this.keysEnd = this.keysStart = 0
    this.realTopicEnd = this.realTopicStart = 0
    let at = start + STEP - 1
    while (at < end) {
      const byte = source[at] ?? 0
      if (byte === NAME_END) this.#take(source, start, at, end)
      at += SKIPS[byte] ?? 1
    }
  }

  /** `nameEnd` is the place of a byte that ends a name. */
  #take(source: Buffer, start: number, nameEnd: number, end: number): void {
    if (isName(source, start, nameEnd, KEYS)) {
      const valueEnd = pairEnd(source, nameEnd + 1, end)
      if (valueEnd === nameEnd + 1) return
      this.keysStart = nameEnd + 1
      this.keysEnd = valueEnd
    } else if (isName(source, start, nameEnd, UNIQUE_KEY)) {
      const valueEnd = pairEnd(source, nameEnd + 1, end)
      if (valueEnd === nameEnd + 1) return
      this.uniqueKeyStart = nameEnd + 1
      this.uniqueKeyEnd = valueEnd
    } else if (isName(source, start, nameEnd, REAL_TOPIC)) {
      const valueEnd = pairEnd(source, nameEnd + 1, end)
      if (valueEnd === nameEnd + 1) return
      this.realTopicStart = nameEnd + 1
      this.realTopicEnd = valueEnd
    }
  }
}

/** Whether `name`, which `nameEnd` is the last byte of, begins a pair of those from `start` on. */
function isName(source: Buffer, start: number, nameEnd: number, name: Buffer): boolean {
  const nameStart = nameEnd + 1 - name.length
  if (nameStart < start) return false
  for (let index = name.length - 2; index >= 0; index--) {
    if (source[nameStart + index] !== name[index]) return false
  }
  return nameStart === start || source[nameStart - 1] === PAIR_END
}

function pairEnd(source: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && source[at] !== PAIR_END) at++
  return at
}

/** Where the word ends that begins at `start`: at a space, or at `end`. */
export function wordEnd(source: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && source[at] !== SPACE) at++
  return at
}

/** Java's hash of a text, of which `hash` is that of what comes before these bytes of UTF-8. */
export function hashOn(hash: number, source: Buffer, start: number, end: number): number {
  let result = hash
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    if (byte > ASCII_MAX) return hashOnText(result, source.toString('utf8', at, end))
    result = (Math.imul(result, 31) + byte) | 0
  }
  return result
}

function hashOnText(hash: number, text: string): number {
  let power = 1
  for (let index = 0; index < text.length; index++) power = Math.imul(power, 31)
  return (Math.imul(hash, power) + javaHash(text)) | 0
}
