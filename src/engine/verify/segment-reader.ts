import type { File, Files } from '../../core/platform/index.ts'

const NAME = /^\d{20}$/

/** A larger hole between two files is no loss but a name that does not belong there. */
const HOLE_MAX = 1024

/**
 * Reads a sequence of files of one length without changing them. A file that is cut off or missing
 * reads as zeros where it has nothing, so that what lies behind keeps its place.
 */
export class SegmentReader {
  readonly directory: string
  readonly segmentBytes: number
  readonly #files: Files
  /** Sizes as they are, by first offset; -1 for one that is missing between others. */
  readonly #sizes: ReadonlyMap<number, number>
  readonly #bases: readonly number[]
  #open: { readonly base: number; readonly file: File } | undefined

  private constructor(
    files: Files,
    directory: string,
    found: { segmentBytes: number; sizes: ReadonlyMap<number, number> },
  ) {
    this.#files = files
    this.directory = directory
    this.segmentBytes = found.segmentBytes
    const known = [...found.sizes.keys()]
      .filter(base => base % found.segmentBytes === 0)
      .toSorted((a, b) => a - b)
    const sizes = new Map<number, number>()
    let next = known[0] ?? 0
    for (const base of known) {
      if (base - next > HOLE_MAX * found.segmentBytes) break
      for (; next < base; next += found.segmentBytes) sizes.set(next, -1)
      sizes.set(base, found.sizes.get(base) ?? -1)
      next = base + found.segmentBytes
    }
    this.#sizes = sizes
    this.#bases = [...sizes.keys()]
  }

  /** `lengthOf` tells the length of the files from their sizes by first offset. */
  static async open(
    files: Files,
    directory: string,
    lengthOf: (sizes: ReadonlyMap<number, number>) => number,
  ): Promise<SegmentReader> {
    const sizes = new Map<number, number>()
    for (const name of await files.list(directory)) {
      if (!NAME.test(name)) continue
      sizes.set(Number(name), (await files.sizeOf(`${directory}/${name}`)) ?? -1)
    }
    return new SegmentReader(files, directory, { segmentBytes: lengthOf(sizes), sizes })
  }

  get bases(): readonly number[] {
    return this.#bases
  }

  get firstOffset(): number {
    return this.#bases[0] ?? 0
  }

  /** Behind the last file, were it whole; 0 when there is none. */
  get endOffset(): number {
    const last = this.#bases.at(-1)
    return last === undefined ? 0 : last + this.segmentBytes
  }

  /** Bytes that the file has; -1 when it is missing. */
  sizeOf(base: number): number {
    return this.#sizes.get(base) ?? -1
  }

  baseOf(offset: number): number {
    return offset - (offset % this.segmentBytes)
  }

  pathOf(base: number): string {
    return `${this.directory}/${String(base).padStart(20, '0')}`
  }

  /** Fills `target` from `offset`; both ends lie in one file. */
  async read(target: Buffer, offset: number): Promise<void> {
    const base = this.baseOf(offset)
    const size = this.sizeOf(base)
    let got = 0
    if (offset - base < size) {
      const file = await this.#fileAt(base)
      got = await file.read(target, offset - base)
    }
    target.fill(0, got)
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.file.close()
  }

  async #fileAt(base: number): Promise<File> {
    if (this.#open?.base === base) return this.#open.file
    await this.close()
    const file = await this.#files.open(this.pathOf(base), 'read')
    this.#open = { base, file }
    return file
  }
}
