import { BrokerError } from '../../core/base/index.ts'
import { readWholeFile, replaceFile, type Files, type Log } from '../../core/platform/index.ts'
import { parseDialect } from '../../model/wire/index.ts'

/** Apache writes more than one value per topic, group and offset: a bound against damage only. */
const VALUES_MAX = 100_000_000

/**
 * A small file of JSON in Apache's shape, kept in memory and replaced as a whole. See
 * docs/formats/config-files.md.
 */
export class JsonFile {
  readonly #files: Files
  readonly #log: Log
  readonly #path: string
  readonly #missed: JsonFileAt['missed']
  readonly #render: () => string
  /** The write that is going on, and the one that will take up what has changed meanwhile. */
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** `render` gives the content to be written; it is called when a write starts. */
  constructor(at: JsonFileAt, render: () => string) {
    this.#files = at.files
    this.#log = at.log
    this.#path = `${at.directory}/${at.name}`
    this.#missed = at.missed
    this.#render = render
  }

  /**
   * The content; `undefined` when there is none, which is logged unless the folder is new. Falls back to `X.bak`, which an Apache broker
   * leaves, when the file is missing, empty or damaged.
   *
   * Errors: STORE_DAMAGED when the file is damaged and there is no sound `.bak`.
   */
  async load(): Promise<JsonObject | undefined> {
    const content = await this.#read(this.#path)
    if (content.kind === 'object') return content.object
    const backup = await this.#read(`${this.#path}.bak`)
    if (backup.kind === 'object') {
      this.#log.warn('a settings file is unusable, its backup is taken', { path: this.#path })
      return backup.object
    }
    if (content.kind !== 'damaged') {
      this.#tellOfMissed(content.kind)
      return undefined
    }
    throw new BrokerError('STORE_DAMAGED', { path: this.#path, problem: 'not a JSON object' })
  }

  /**
   * As `save`, when all that is to be written is what a start adds by itself: without room on the
   * disk it is written with the next change.
   */
  async saveIfRoom(): Promise<void> {
    try {
      await this.#write()
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== 'STORE_FULL') throw error
      this.#log.warn('a settings file found no room on the disk; the next change writes it', {
        path: this.#path,
      })
    }
  }

  /**
   * Writes the present state; durable when it resolves. Calls during a write share the next one.
   * Rejects with STORE_FULL or STORE_FAILED; the failure is logged here, so it may be ignored.
   */
  save(): Promise<void> {
    if (this.#next !== undefined) return this.#next
    const saved = this.#running === undefined ? this.#write() : this.#writeAfter(this.#running)
    // Somebody always watches: a caller that has no answer to hold need not.
    saved.catch((error: unknown) => {
      this.#log.error('a settings file cannot be written', error, { path: this.#path })
    })
    return saved
  }

  #tellOfMissed(found: 'missing' | 'empty'): void {
    const missed = this.#missed
    if (missed === undefined || (found === 'missing' && !missed.isExpected)) return
    this.#log.warn(
      'a settings file is missing or empty; put it back from a copy, if there is one',
      {
        path: this.#path,
        found,
        meaning: missed.meaning,
      },
    )
  }

  #writeAfter(running: Promise<void>): Promise<void> {
    const start = (): Promise<void> => {
      this.#next = undefined
      return this.#write()
    }
    this.#next = running.then(start, start)
    return this.#next
  }

  #write(): Promise<void> {
    const write = replaceFile(this.#files, this.#path, Buffer.from(this.#render()))
    const running = write.finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #read(path: string): Promise<Content> {
    const bytes = await readWholeFile(this.#files, path)
    if (bytes === undefined) return { kind: 'missing' }
    if (bytes.every(byte => byte === 0)) return { kind: 'empty' }
    const object = tryParse(bytes)
    return object === undefined ? { kind: 'damaged' } : { kind: 'object', object }
  }
}

export interface JsonFileAt {
  readonly files: Files
  readonly log: Log
  readonly directory: string
  readonly name: string
  /** What is to be logged when the file holds nothing; not given: nobody misses it. */
  readonly missed?: MissedFile
}

export interface MissedFile {
  /** What follows from it, for the operator. */
  readonly meaning: string
  /** Whether there must be such a file by now. An empty one is never of our making. */
  readonly isExpected: boolean
}

type Content =
  | { readonly kind: 'missing' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'object'; readonly object: JsonObject }

function tryParse(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = parseDialect(bytes.toString(), { valuesMax: VALUES_MAX })
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What a file holds; nothing in it is believed before it is looked at. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
