import { type Files, readWholeFile, replaceFile } from '../../../core/platform/index.ts'

/**
 * `config/delayOffset.json` as RocketMQ 4 has it: per level (1 to 18) the queue offset of the next
 * message to deliver. An export of the manifest, for Apache and for tools; read only when Apache
 * had the folder open. See docs/formats/delay-offset.md.
 */
export class DelayOffsetsFile {
  readonly #files: Files
  readonly #path: string
  #written = ''

  constructor(files: Files, path: string) {
    this.#files = files
    this.#path = path
  }

  /** Offsets by level; empty when there is no such file, or nothing in it can be read. */
  async read(): Promise<ReadonlyMap<number, number>> {
    const bytes = await readWholeFile(this.#files, this.#path)
    const offsets = new Map<number, number>()
    const table = /"offsetTable"\s*:\s*\{([^}]*)\}/.exec(bytes?.toString('utf8') ?? '')?.[1] ?? ''
    // Apache leaves the quotes of number keys out, which is not JSON.
    for (const [, level, offset] of table.matchAll(/"?(\d+)"?\s*:\s*(\d+)/g)) {
      offsets.set(Number(level), Number(offset))
    }
    return offsets
  }

  /** Durable when it resolves. Does nothing when nothing has changed. */
  async write(offsets: ReadonlyMap<number, number>): Promise<void> {
    const entries = [...offsets].map(([level, offset]) => `${level}:${offset}`)
    const content = `{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":0},"offsetTable":{${entries.join(',')}}}`
    if (content === this.#written) return
    await replaceFile(this.#files, this.#path, Buffer.from(content))
    this.#written = content
  }
}
