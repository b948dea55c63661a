import { assert, BrokerError } from '../../core/base/index.ts'

/** A value of the dialect. Objects have no prototype. */
export type DialectValue =
  | string
  | number
  | boolean
  | null
  | readonly DialectValue[]
  | DialectObject
export interface DialectObject {
  readonly [name: string]: DialectValue
}

export interface DialectLimits {
  /** How deep arrays and objects may be nested. */
  readonly depthMax?: number
  /** How many values there may be in all, which bounds the memory they take. */
  readonly valuesMax?: number
}

const DEPTH_MAX = 32
const VALUES_MAX = 1_000_000

/**
 * Parses JSON as fastjson writes and reads it: standard JSON, names that are unquoted (`{0:"a"}`)
 * or are objects (`{{"queueId":0}:1}`; such an object becomes its compact JSON text as the name),
 * and numbers with zeros in front.
 * An object that is a name has plain names itself: text in text would double at each level.
 *
 * Takes time linear in the text. Throws `PARAMETER_INVALID` with the position of what cannot be
 * read, or with the limit that was passed.
 */
export function parseDialect(text: string, limits: DialectLimits = {}): DialectValue {
  const parser = new Parser(text, limits.depthMax ?? DEPTH_MAX, limits.valuesMax ?? VALUES_MAX)
  return parser.document()
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const BARE_NAME = /[\w.$-]+/y

class Parser {
  readonly #text: string
  readonly #depthMax: number
  readonly #valuesMax: number
  #position = 0
  #values = 0
  #isInName = false

  constructor(text: string, depthMax: number, valuesMax: number) {
    this.#text = text
    this.#depthMax = depthMax
    this.#valuesMax = valuesMax
  }

  document(): DialectValue {
    const value = this.#value(0)
    this.#skipBlanks()
    if (this.#position !== this.#text.length) throw this.#unexpected()
    return value
  }

  #value(depth: number): DialectValue {
    if (depth > this.#depthMax) {
      throw new BrokerError('PARAMETER_INVALID', { jsonDepthMax: this.#depthMax })
    }
    this.#values++
    if (this.#values > this.#valuesMax) {
      throw new BrokerError('PARAMETER_INVALID', { jsonValuesMax: this.#valuesMax })
    }
    this.#skipBlanks()
    switch (this.#text[this.#position]) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#array(depth)
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #object(depth: number): DialectObject {
    const object: Record<string, DialectValue> = Object.create(null)
    this.#position++
    if (this.#takes('}')) return object
    do {
      const name = this.#name(depth)
      if (!this.#takes(':')) throw this.#unexpected()
      object[name] = this.#value(depth + 1)
    } while (this.#takes(','))
    if (!this.#takes('}')) throw this.#unexpected()
    return object
  }

  #name(depth: number): string {
    this.#skipBlanks()
    const first = this.#text[this.#position]
    if (first === '"') return this.#string()
    if (first === '{' || first === '[') return this.#objectName(depth)
    const name = this.#match(BARE_NAME)
    if (name === undefined) throw this.#unexpected()
    return name
  }

  #objectName(depth: number): string {
    if (this.#isInName) throw this.#unexpected()
    this.#isInName = true
    const text = JSON.stringify(this.#value(depth + 1))
    this.#isInName = false
    return text
  }

  #array(depth: number): readonly DialectValue[] {
    const values: DialectValue[] = []
    this.#position++
    if (this.#takes(']')) return values
    do {
      values.push(this.#value(depth + 1))
    } while (this.#takes(','))
    if (!this.#takes(']')) throw this.#unexpected()
    return values
  }

  #string(): string {
    const start = this.#position
    let end = start + 1
    for (; ; end++) {
      const unit = this.#text.charCodeAt(end)
      if (Number.isNaN(unit)) throw this.#unexpected()
      if (unit === 0x22) break
      if (unit === 0x5c) end++
    }
    this.#position = end + 1
    return unquoted(this.#text.slice(start, end + 1), start)
  }

  #number(): number {
    const digits = this.#match(NUMBER)
    if (digits === undefined) throw this.#unexpected()
    return Number(digits)
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#position)) throw this.#unexpected()
    this.#position += word.length
    return value
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const found = pattern.exec(this.#text)?.[0]
    this.#position += found?.length ?? 0
    return found
  }

  #takes(mark: string): boolean {
    this.#skipBlanks()
    const found = this.#text[this.#position] === mark
    if (found) this.#position++
    return found
  }

  #skipBlanks(): void {
    for (;;) {
      const unit = this.#text.charCodeAt(this.#position)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
      this.#position++
    }
  }

  #unexpected(): BrokerError {
    const found = this.#text[this.#position] ?? 'end of text'
    return new BrokerError('PARAMETER_INVALID', { json: found, position: this.#position })
  }
}

function unquoted(quoted: string, position: number): string {
  let text: unknown
  try {
    text = JSON.parse(quoted)
  } catch (error) {
    throw new BrokerError('PARAMETER_INVALID', { json: 'bad string', position }, error)
  }
  assert(typeof text === 'string', 'a text in quotes must be a string')
  return text
}

/**
 * Writes a map whose names are objects the way fastjson does and Java clients need it:
 * `{{"brokerName":"a","queueId":0,"topic":"T"}:{…},…}`, compact.
 */
export function stringifyObjectMap(entries: Iterable<readonly [object, unknown]>): string {
  const members = Array.from(
    entries,
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  )
  return `{${members.join(',')}}`
}
