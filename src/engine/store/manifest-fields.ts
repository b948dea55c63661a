import { BrokerError } from '../../core/base/index.ts'

/**
 * An object of the manifest's JSON, read field by field with its checks. Names that are not asked
 * for do not matter.
 *
 * What is missing or of another kind throws `STORE_DAMAGED` with the field's path.
 */
export class ManifestFields {
  readonly #values: ReadonlyMap<string, unknown>
  readonly #path: string

  /** `path` names the object in errors, such as `sections.ladder.partitions[3]`. */
  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw damaged(path, 'must be an object')
    }
    this.#values = new Map<string, unknown>(Object.entries(value))
    this.#path = path
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  text(name: string): string {
    const value = this.#values.get(name)
    if (typeof value !== 'string') throw damaged(this.#pathOf(name), 'must be a string')
    return value
  }

  flag(name: string): boolean {
    const value = this.#values.get(name)
    if (typeof value !== 'boolean') throw damaged(this.#pathOf(name), 'must be true or false')
    return value
  }

  /** A time or span in milliseconds. */
  timeMs(name: string): number {
    return timeMsOf(this.#values.get(name), this.#pathOf(name))
  }

  timesMs(name: string): readonly number[] {
    return listOf(this.#values.get(name), this.#pathOf(name), timeMsOf)
  }

  /** A size, offset, id or number of things: whole, and not below 0. */
  count(name: string): number {
    return countOf(this.#values.get(name), this.#pathOf(name))
  }

  counts(name: string): readonly number[] {
    return countsOf(this.#values.get(name), this.#pathOf(name))
  }

  object(name: string): ManifestFields {
    return new ManifestFields(this.#values.get(name), this.#pathOf(name))
  }

  objects(name: string): readonly ManifestFields[] {
    const value = this.#values.get(name)
    return listOf(value, this.#pathOf(name), (each, path) => new ManifestFields(each, path))
  }

  /** All of its values, not looked at yet. */
  values(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#values)
  }

  /** A table whose values are counts. */
  countTable(name: string): Readonly<Record<string, number>> {
    const table = this.object(name)
    return Object.fromEntries([...table.#values.keys()].map(key => [key, table.count(key)]))
  }

  #pathOf(name: string): string {
    return `${this.#path}.${name}`
  }
}

/** A list of sizes, offsets, ids or numbers of things. Throws as `ManifestFields` does. */
export function countsOf(value: unknown, path: string): readonly number[] {
  return listOf(value, path, countOf)
}

function countOf(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw damaged(path, 'must be a whole number, not below 0')
  }
  return value
}

function timeMsOf(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw damaged(path, 'must be a number')
  }
  return value
}

function listOf<Item>(
  value: unknown,
  path: string,
  itemOf: (each: unknown, path: string) => Item,
): readonly Item[] {
  if (!Array.isArray(value)) throw damaged(path, 'must be a list')
  return value.map((each: unknown, index) => itemOf(each, `${path}[${index}]`))
}

function damaged(field: string, problem: string): BrokerError {
  return new BrokerError('STORE_DAMAGED', { file: 'manifest', field, problem })
}
