import { BrokerError } from '../../../core/base/index.ts'
import { type DialectObject, type DialectValue, parseDialect } from '../json-dialect.ts'

/**
 * An object of a JSON body, read field by field with its checks. Unknown fields do not matter.
 *
 * What is missing or of another kind throws `PARAMETER_INVALID` with the field's path. Absent and
 * null are the same; only where a default is given may they be.
 */
export class BodyObject {
  readonly #object: DialectObject
  readonly #path: string

  constructor(value: DialectValue | undefined, path: string) {
    if (typeof value !== 'object' || value === null || isArray(value)) {
      throw new BrokerError('PARAMETER_INVALID', { field: path, problem: 'must be an object' })
    }
    this.#object = value
    this.#path = path
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined
  }

  names(): readonly string[] {
    return Object.keys(this.#object)
  }

  text(name: string, absent?: string): string {
    const value = this.#value(name) ?? absent
    if (typeof value !== 'string') throw this.#invalid(name, 'must be a string')
    return value
  }

  /** A whole number that a double holds exactly. Digits in quotes are taken too. */
  integer(name: string, absent?: number): number {
    const value = this.#value(name) ?? absent
    const isDigits = typeof value === 'string' && /^-?\d{1,16}$/.test(value)
    const number = isDigits ? Number(value) : value
    if (typeof number !== 'number' || !Number.isSafeInteger(number)) {
      throw this.#invalid(name, 'must be a whole number')
    }
    return number
  }

  /**
   * A whole number that only says which of two is newer, such as a version. Go clients count in
   * nanoseconds: what a double does not hold exactly is rounded.
   */
  version(name: string, absent?: number): number {
    const value = this.#value(name) ?? absent
    const isDigits = typeof value === 'string' && /^-?\d{1,19}$/.test(value)
    const number = isDigits ? Number(value) : value
    if (typeof number !== 'number' || !Number.isInteger(number) || Math.abs(number) > 2 ** 63) {
      throw this.#invalid(name, 'must be a whole number')
    }
    return number
  }

  int32(name: string, absent?: number): number {
    const value = this.integer(name, absent)
    if ((value | 0) !== value) throw this.#invalid(name, 'must fit into 32 bits')
    return value
  }

  flag(name: string, absent?: boolean): boolean {
    const value = this.#value(name) ?? absent
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw this.#invalid(name, 'must be true or false')
  }

  /** One of `words`, or its index among them: C++ clients send that. */
  word<T extends string>(name: string, words: readonly T[], absent?: T): T {
    const value = this.#value(name) ?? absent
    const word = typeof value === 'number' ? words[value] : words.find(each => each === value)
    if (word === undefined) throw this.#invalid(name, `must be one of ${words.join(' ')}`)
    return word
  }

  object(name: string): BodyObject {
    return new BodyObject(this.#value(name), this.#pathOf(name))
  }

  /** Empty when absent. */
  objects(name: string): readonly BodyObject[] {
    return this.#list(name).map(
      (value, index) => new BodyObject(value, `${this.#pathOf(name)}[${index}]`),
    )
  }

  /** Empty when absent. */
  texts(name: string): readonly string[] {
    return this.#list(name).map(value => {
      if (typeof value === 'string') return value
      throw this.#invalid(name, 'must be a list of strings')
    })
  }

  /** Empty when absent. */
  integers(name: string): readonly number[] {
    return this.#list(name).map(value => {
      if (typeof value === 'number' && Number.isSafeInteger(value)) return value
      throw this.#invalid(name, 'must be a list of whole numbers')
    })
  }

  /** Empty when absent. Values that are no strings become their JSON text. */
  table(name: string): ReadonlyMap<string, string> {
    const value = this.#value(name)
    if (value === undefined) return new Map()
    const object = this.object(name)
    return new Map(object.names().map(key => [key, object.#asText(key)]))
  }

  #asText(name: string): string {
    const value = this.#value(name) ?? ''
    return typeof value === 'string' ? value : JSON.stringify(value)
  }

  #list(name: string): readonly DialectValue[] {
    const value = this.#value(name) ?? []
    if (!isArray(value)) throw this.#invalid(name, 'must be a list')
    return value
  }

  #value(name: string): DialectValue | undefined {
    return this.#object[name] ?? undefined
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }

  #invalid(name: string, problem: string): BrokerError {
    return new BrokerError('PARAMETER_INVALID', { field: this.#pathOf(name), problem })
  }
}

/** Reads a body that must be one JSON object. */
export function bodyObject(body: Uint8Array): BodyObject {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  return new BodyObject(parseDialect(text), '')
}

function isArray(value: DialectValue): value is readonly DialectValue[] {
  return Array.isArray(value)
}
