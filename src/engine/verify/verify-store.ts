import { BrokerError, operatingError } from '../../core/base/index.ts'
import type { Files, Platform } from '../../core/platform/index.ts'
import { levelsSectionOf } from '../timer/index.ts'
import {
  APACHE_GEOMETRY,
  hasAbortFile,
  type IndexGeometry,
  type IndexSection,
  indexSectionOf,
  type Manifest,
} from '../store/index.ts'
import { type ChunkPlace } from './chunk-check.ts'
import { type Finding, Findings } from './findings.ts'
import { IndexCheck } from './index-check.ts'
import { LogCheck } from './log-check.ts'
import { checkManifest, type ManifestState } from './manifest-check.ts'
import { QueuesCheck } from './queues-check.ts'
import { SegmentReader } from './segment-reader.ts'
import { checkExports, checkSettings } from './small-files-check.ts'
import { checkChunks, chunksOf, noteUnnamed } from './timers-check.ts'
import { UnitBlocks } from './unit-blocks.ts'

const BLOCK_BYTES = 1024 * 1024
/** Segments of the log have a length that is a multiple of it. */
const PAGE_BYTES = 4096
/** LevelDB's: to open one is to change it. */
const DATABASES = ['orrery/moved', 'orrery/keys'] as const

export interface VerifyProgress {
  readonly doneBytes: number
  /** Of the commit log and the chunks. */
  readonly totalBytes: number
}

export interface VerifyOptions {
  /** The data folder. */
  readonly directory: string
  /** Length of the log's segments; what the files say when it is left out. */
  readonly segmentBytes?: number | undefined
  /** Of the message index; default Apache's. */
  readonly indexGeometry?: IndexGeometry | undefined
  /** Told of each finding as soon as it is complete. */
  readonly onFinding: (finding: Finding) => void
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

export interface VerifySummary {
  readonly damageCount: number
  readonly noteCount: number
  /** The last broker stopped cleanly: then what it wrote is known to the last byte. */
  readonly isClean: boolean
  readonly recordCount: number
  readonly queueCount: number
  /** Files of the message index that were read. */
  readonly indexFileCount: number
  readonly chunkCount: number
  /** Messages in the chunks. */
  readonly waitingCount: number
  /** Bytes of the commit log and the chunks that were looked at. */
  readonly readBytes: number
  /** Folders of databases, which are not read. */
  readonly uncheckedFolders: readonly string[]
}

/**
 * Reads everything in the data folder of a stopped broker and tells what is damaged. Changes
 * nothing. Takes the lock of the folder, so that no broker starts meanwhile.
 *
 * Errors: `STORE_LOCKED` while a broker runs; `STORE_MISSING` when there is no data folder;
 * `STORE_FAILED` when a file cannot be read.
 */
export async function verifyStore(
  options: VerifyOptions,
  platform: Pick<Platform, 'files'>,
): Promise<VerifySummary> {
  const { files } = platform
  const { directory } = options
  const names = await files.list(directory)
  if (!names.includes('commitlog') && !names.includes('orrery')) {
    throw new BrokerError('STORE_MISSING', { directory })
  }
  const lock = await files.lock(directory)
  try {
    return await new Verification(options, files).run()
  } finally {
    await lock.release()
  }
}

class Verification {
  readonly #options: VerifyOptions
  readonly #directory: string
  readonly #files: Files
  readonly #findings: Findings
  #logBytes = 0
  #chunkBytes = 0
  #totalBytes = 0

  constructor(options: VerifyOptions, files: Files) {
    this.#options = options
    this.#directory = options.directory
    this.#files = files
    this.#findings = new Findings(options.onFinding)
  }

  async run(): Promise<VerifySummary> {
    const files = this.#files
    const directory = this.#directory
    const findings = this.#findings
    const state = await checkManifest(files, directory, findings)
    const { manifest } = state
    const isClean = manifest?.cleanStop !== undefined
    const chunks = this.#chunksOf(manifest)
    const log = await this.#openLog(manifest)
    this.#totalBytes = log.endOffset - log.firstOffset
    for (const { section } of chunks) this.#totalBytes += section.sizeBytes
    const logCounts = await this.#checkLog(log, state)
    const progress = (bytes: number): void => {
      this.#chunkBytes += bytes
      this.#tellProgress()
    }
    const waitingCount = await checkChunks(chunks, { files, findings, isClean, progress })
    await noteUnnamed(files, directory, {
      named: chunks,
      findings,
      isManifestLost: state.isLost,
    })
    await checkSettings(files, directory, findings)
    if (manifest?.cleanStop !== undefined) {
      await checkExports(files, directory, { cleanStop: manifest.cleanStop, findings })
    }
    findings.end()
    const { damageCount, noteCount } = findings
    const readBytes = this.#logBytes + this.#chunkBytes
    const counts = { ...logCounts, chunkCount: chunks.length, waitingCount, readBytes }
    const uncheckedFolders = await this.#databases()
    return { damageCount, noteCount, isClean, ...counts, uncheckedFolders }
  }

  #chunksOf(manifest: Manifest | undefined): readonly ChunkPlace[] {
    try {
      return chunksOf(this.#directory, manifest)
    } catch (error) {
      this.#damagedSection(operatingError(error))
      return []
    }
  }

  #levelsMsOf(manifest: Manifest | undefined): readonly number[] {
    try {
      return levelsSectionOf(manifest?.sections['levels'])?.levelsMs ?? []
    } catch (error) {
      this.#damagedSection(operatingError(error))
      return []
    }
  }

  #indexSectionOf(manifest: Manifest | undefined): IndexSection | undefined {
    try {
      return indexSectionOf(manifest?.sections['messageIndex'])
    } catch (error) {
      this.#damagedSection(operatingError(error))
      return undefined
    }
  }

  async #databases(): Promise<readonly string[]> {
    const found: string[] = []
    for (const name of DATABASES) {
      const names = await this.#files.list(`${this.#directory}/${name}`)
      if (names.length > 0) found.push(name)
    }
    return found
  }

  #damagedSection({ details }: BrokerError): void {
    const what = `a section of the manifest cannot be read: ${JSON.stringify(details)}`
    this.#findings.damage(`${this.#directory}/orrery/manifest-a`, [0, 1], what)
  }

  async #openLog(manifest: Manifest | undefined): Promise<SegmentReader> {
    const endMin = manifest?.appliedOffset ?? 0
    const log = await SegmentReader.open(this.#files, `${this.#directory}/commitlog`, sizes =>
      segmentBytesOf(sizes, { given: this.#options.segmentBytes, endMin }),
    )
    const isClean = manifest?.cleanStop !== undefined
    for (const base of log.bases) {
      const size = log.sizeOf(base)
      if (size === log.segmentBytes) continue
      // A power cut may come between making a file and giving it its length.
      const isNew = !isClean && base === log.bases.at(-1) && base + size >= endMin
      const from = Math.min(Math.max(size, 0), log.segmentBytes)
      this.#findings.add({
        kind: isNew ? 'note' : 'damage',
        file: log.pathOf(base),
        fromPosition: from,
        toPosition: Math.max(size, log.segmentBytes),
        what: 'the file of the commit log is missing, cut off or too long',
      })
    }
    return log
  }

  async #checkLog(
    log: SegmentReader,
    { manifest }: ManifestState,
  ): Promise<{ recordCount: number; queueCount: number; indexFileCount: number }> {
    const files = this.#files
    const findings = this.#findings
    const { cleanStop, appliedOffset = 0 } = manifest ?? {}
    const isClean = cleanStop !== undefined
    // What an unclean stop of another broker leaves is built again from the log.
    const isAborted = await hasAbortFile(files, this.#directory)
    const isForeign = manifest === undefined && !isAborted
    const endMin = log.endOffset === 0 && appliedOffset === 0 ? 0 : appliedOffset
    const check = new LogCheck(log, { endMin, isExact: isClean }, findings)
    const queues = new QueuesCheck(files, `${this.#directory}/consumequeue`, {
      blocks: new UnitBlocks(),
      findings,
      log,
      ranges: check.ranges,
      unitsTo: appliedOffset,
      isForeign,
      levelsMs: this.#levelsMsOf(manifest),
    })
    const section = this.#indexSectionOf(manifest)
    const index = new IndexCheck(`${this.#directory}/index`, {
      files,
      findings,
      geometry: this.#options.indexGeometry ?? APACHE_GEOMETRY,
      log,
      ranges: check.ranges,
      isClean,
      section,
      isForeign: manifest === undefined,
      // Without a section the index is off, or has another broker's work only.
      itemsTo: section === undefined ? 0 : appliedOffset,
      isBuiltAgain: manifest === undefined && isAborted,
    })
    await queues.discover(isClean)
    await index.discover()
    await check.run({
      record: (source, position, offset) => {
        const inQueue = queues.record(source, position, offset)
        const inIndex = index.record(source, position, offset)
        return inQueue === undefined || inIndex === undefined
          ? (inQueue ?? inIndex)
          : both(inQueue, inIndex)
      },
      progress: offset => {
        this.#logBytes = offset - log.firstOffset
        this.#tellProgress()
      },
    })
    this.#logBytes = log.endOffset - log.firstOffset
    this.#tellProgress()
    await log.close()
    await index.end()
    const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    for (const queue of queues.all()) await queue.end(block)
    check.tellRanges(appliedOffset)
    return {
      recordCount: check.recordCount,
      queueCount: queues.count,
      indexFileCount: index.fileCount,
    }
  }

  #tellProgress(): void {
    const doneBytes = this.#logBytes + this.#chunkBytes
    this.#options.onProgress?.({ doneBytes, totalBytes: this.#totalBytes })
  }
}

async function both(first: Promise<void>, second: Promise<void>): Promise<void> {
  await Promise.all([first, second])
}

/** Length of the log's segments, from their names, else from the size of the only one. */
function segmentBytesOf(
  sizes: ReadonlyMap<number, number>,
  known: { readonly given: number | undefined; readonly endMin: number },
): number {
  if (known.given !== undefined) return known.given
  const bases = [...sizes.keys()].toSorted((a, b) => a - b)
  const largest = Math.max(PAGE_BYTES, ...sizes.values())
  const distances = bases.slice(1).map((base, index) => base - (bases[index] ?? 0))
  const shortest = Math.min(...distances)
  if (shortest !== Infinity) {
    // Of two files with a hole between them, the size tells.
    return shortest % largest === 0 ? largest : shortest
  }
  const needed = Math.max(largest, known.endMin - (bases[0] ?? 0))
  return Math.ceil(needed / PAGE_BYTES) * PAGE_BYTES
}
