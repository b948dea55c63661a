import { BrokerError } from '../../core/base/index.ts'

/*
 * Properties travel and are stored as one string: name, 1, value, 2, name, 1, value, 2. The last
 * 2 may be missing. A pair without a name or without a value does not count; of several pairs
 * with one name the last counts.
 */
const NAME_END = '\u0001'
const PAIR_END = '\u0002'
const NAME_END_CODE = 1
const PAIR_END_CODE = 2

/** The value of a property; undefined when it is absent or empty. The last of several counts. */
export function findProperty(properties: string, name: string): string | undefined {
  const found = findPropertyOrEmpty(properties, name)
  return found === '' ? undefined : found
}

/** As `findProperty`, but the empty string where the sender gave nothing but an empty value. */
export function findPropertyOrEmpty(properties: string, name: string): string | undefined {
  let found: string | undefined
  let nameStart = properties.indexOf(name)
  while (nameStart >= 0) {
    const nameEnd = nameStart + name.length
    if (isName(properties, nameStart, nameEnd)) {
      const valueEnd = pairEnd(properties, nameEnd)
      if (valueEnd > nameEnd + 1) found = properties.slice(nameEnd + 1, valueEnd)
      else found ??= ''
    }
    nameStart = properties.indexOf(name, nameEnd)
  }
  return found
}

/** True when the property is there and not empty. */
export function hasProperty(properties: string, name: string): boolean {
  return findProperty(properties, name) !== undefined
}

/** Adds a pair at the end. Neither part may contain a separator. The result ends with one. */
export function appendProperty(properties: string, name: string, value: string): string {
  const separator = properties === '' || endsPair(properties) ? '' : PAIR_END
  return properties + separator + name + NAME_END + value + PAIR_END
}

/** Takes out every pair with one of these names. The same string when there is none. */
export function removeProperties(properties: string, names: readonly string[]): string {
  let rest = properties
  for (const name of names) {
    if (rest.includes(name)) rest = removeProperty(rest, name)
  }
  return rest
}

/** All properties that count, in the order of their first pairs. */
export function parseProperties(properties: string): Map<string, string> {
  const parsed = new Map<string, string>()
  let start = 0
  while (start < properties.length) {
    const end = pairEnd(properties, start)
    const nameEnd = properties.indexOf(NAME_END, start)
    if (nameEnd > start && nameEnd < end - 1) {
      parsed.set(properties.slice(start, nameEnd), properties.slice(nameEnd + 1, end))
    }
    start = end + 1
  }
  return parsed
}

/**
 * The string form of pairs.
 *
 * Errors: MESSAGE_INVALID when a name or value is empty or contains a separator.
 */
export function formatProperties(entries: Iterable<readonly [string, string]>): string {
  let properties = ''
  for (const [name, value] of entries) {
    checkPair(name, value)
    properties += name + NAME_END + value + PAIR_END
  }
  return properties
}

function removeProperty(properties: string, name: string): string {
  let kept = ''
  let keptEnd = 0
  let nameStart = properties.indexOf(name)
  while (nameStart >= 0) {
    const nameEnd = nameStart + name.length
    if (isName(properties, nameStart, nameEnd)) {
      kept += properties.slice(keptEnd, nameStart)
      keptEnd = Math.min(pairEnd(properties, nameEnd) + 1, properties.length)
    }
    nameStart = properties.indexOf(name, Math.max(nameEnd, keptEnd))
  }
  return keptEnd === 0 ? properties : kept + properties.slice(keptEnd)
}

function isName(properties: string, start: number, end: number): boolean {
  if (properties.charCodeAt(end) !== NAME_END_CODE) return false
  return start === 0 || properties.charCodeAt(start - 1) === PAIR_END_CODE
}

function pairEnd(properties: string, from: number): number {
  const end = properties.indexOf(PAIR_END, from)
  return end < 0 ? properties.length : end
}

function endsPair(properties: string): boolean {
  return properties.charCodeAt(properties.length - 1) === PAIR_END_CODE
}

function checkPair(name: string, value: string): void {
  if (name === '' || value === '') {
    throw new BrokerError('MESSAGE_INVALID', { problem: 'a property is empty', property: name })
  }
  if (name.includes(NAME_END) || name.includes(PAIR_END) || value.includes(PAIR_END)) {
    throw new BrokerError('MESSAGE_INVALID', {
      problem: 'a property contains the character U+0001 or U+0002',
      property: JSON.stringify(name),
    })
  }
}
