import { assert, BrokerError, crc32, readInt64Loose, writeInt64 } from '../../core/base/index.ts'
import { type Files, type Log, readWholeFile } from '../../core/platform/index.ts'
import { TIMER_TOPIC } from '../../model/message/index.ts'
import { ManifestFields } from './manifest-fields.ts'
import { type QueueTotals, queueTotalsOf } from './queue-totals.ts'

/**
 * The manifest: one snapshot of how far everything is durable, in two copies: a torn write, or a
 * bit that goes bad, leaves the other. See docs/formats/manifest.md.
 */
export interface Manifest {
  /** Grows by one with each one written. */
  readonly generation: number
  /** R: every record of the log below it is applied to all the files listed. */
  readonly appliedOffset: number
  /** Set by a clean stop: lets a start see whether Apache had the folder open meanwhile. */
  readonly cleanStop: CleanStop | undefined
  /** What the queues' files hold up to R; missing in a manifest of an older version. */
  readonly queues?: QueueTotals | undefined
  /** One entry per participant (levels, ladder, parked), in a shape of its own. */
  readonly sections: Readonly<Record<string, unknown>>
}

export interface CleanStop {
  readonly endOffset: number
  /** CRC-32 of `config/delayOffset.json` as it was written. */
  readonly exportsCrc: number
}

const MAGIC = 0x4f52_5259 // "ORRY"
const VERSION = 1
const HEADER_BYTES = 32
const PAYLOAD_BYTES_MAX = 256 * 1024 * 1024

const AT_MAGIC = 0
const AT_VERSION = 4
const AT_GENERATION = 8
const AT_PAYLOAD_BYTES = 16
const AT_PAYLOAD_CRC = 20
const AT_RESERVED = 24
const AT_HEADER_CRC = 28
assert(AT_HEADER_CRC + 4 === HEADER_BYTES, 'the fields must fill the header exactly')

/** What to do where no copy can be read. */
export const MANIFEST_HINT: string =
  'put orrery/ back as it was, from a copy of the folder; to go on without the messages that ' +
  `wait, move orrery/ and consumequeue/${TIMER_TOPIC} away`

const COPIES = ['manifest-a', 'manifest-b'] as const

export function encodeManifest(manifest: Manifest): Buffer {
  const payload = Buffer.from(
    JSON.stringify({
      appliedOffset: manifest.appliedOffset,
      cleanStop: manifest.cleanStop,
      queues: manifest.queues,
      sections: manifest.sections,
    }),
  )
  // Written larger, no start would read it: the older copy stays good.
  assert(payload.length <= PAYLOAD_BYTES_MAX, 'the manifest must not be larger than is read')
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length)
  bytes.writeUInt32BE(MAGIC, AT_MAGIC)
  bytes.writeUInt32BE(VERSION, AT_VERSION)
  writeInt64(bytes, manifest.generation, AT_GENERATION)
  bytes.writeUInt32BE(payload.length, AT_PAYLOAD_BYTES)
  bytes.writeUInt32BE(crc32(payload, 0, payload.length), AT_PAYLOAD_CRC)
  bytes.writeUInt32BE(0, AT_RESERVED)
  bytes.writeUInt32BE(crc32(bytes, 0, AT_HEADER_CRC), AT_HEADER_CRC)
  payload.copy(bytes, HEADER_BYTES)
  return bytes
}

/**
 * Returns `undefined` for anything that is not a whole, undamaged copy.
 *
 * @throws BrokerError `STORE_DAMAGED` for a version that is not ours, or a payload of another shape
 */
export function decodeManifest(bytes: Buffer): Manifest | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  if (bytes.readUInt32BE(AT_MAGIC) !== MAGIC) return undefined
  if (bytes.readUInt32BE(AT_HEADER_CRC) !== crc32(bytes, 0, AT_HEADER_CRC)) return undefined
  const version = bytes.readUInt32BE(AT_VERSION)
  if (version !== VERSION) {
    throw new BrokerError('STORE_DAMAGED', { file: 'manifest', version, supported: VERSION })
  }
  const payloadBytes = bytes.readUInt32BE(AT_PAYLOAD_BYTES)
  const end = HEADER_BYTES + payloadBytes
  if (payloadBytes > PAYLOAD_BYTES_MAX || bytes.length < end) return undefined
  if (bytes.readUInt32BE(AT_PAYLOAD_CRC) !== crc32(bytes, HEADER_BYTES, end)) return undefined
  const payload = new ManifestFields(parse(bytes.toString('utf8', HEADER_BYTES, end)), 'payload')
  return {
    generation: readInt64Loose(bytes, AT_GENERATION),
    appliedOffset: payload.count('appliedOffset'),
    cleanStop: payload.has('cleanStop') ? cleanStopOf(payload.object('cleanStop')) : undefined,
    ...(payload.has('queues') ? { queues: queueTotalsOf(payload.object('queues')) } : {}),
    sections: payload.object('sections').values(),
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new BrokerError('STORE_DAMAGED', { file: 'manifest', problem: 'not JSON' }, error)
  }
}

function cleanStopOf(fields: ManifestFields): CleanStop {
  return { endOffset: fields.count('endOffset'), exportsCrc: fields.count('exportsCrc') }
}

/** Reads and writes the two copies in `directory`. */
export class ManifestFile {
  readonly #files: Files
  readonly #directory: string
  readonly #log: Log
  /** Copy a is newer than b, or b is not whole: b is to be written first. */
  #isFirstNewer = false
  /** The names of both copies are durable. */
  #isNamed = false

  constructor(files: Files, directory: string, log: Log) {
    this.#files = files
    this.#directory = directory
    this.#log = log
  }

  /**
   * The newest whole copy, or `undefined` in a new store. The other copy is made like it, as far as
   * the disk permits: from then on damage to one of them costs nothing.
   *
   * @throws BrokerError `STORE_DAMAGED` when copies exist and none can be read.
   */
  async read(): Promise<Manifest | undefined> {
    const copies: (Manifest | undefined)[] = []
    let damaged = 0
    for (const name of COPIES) {
      const file = `${this.#directory}/${name}`
      const bytes = await readWholeFile(this.#files, file)
      const isEmpty = bytes === undefined || bytes.length === 0
      const manifest = isEmpty ? undefined : decodeManifest(bytes)
      copies.push(manifest)
      if (isEmpty || manifest !== undefined) continue
      damaged++
      this.#log.warn('a copy of the manifest is not whole; the other one counts', { file })
    }
    const [a, b] = copies
    const isNewerA = (a?.generation ?? 0) >= (b?.generation ?? 0)
    const newest = isNewerA ? (a ?? b) : b
    if (newest === undefined && damaged === COPIES.length) {
      throw new BrokerError('STORE_DAMAGED', {
        file: `${this.#directory}/manifest-a and -b`,
        reason: 'neither is whole',
        hint: MANIFEST_HINT,
      })
    }
    if (newest !== undefined && a?.generation !== b?.generation) {
      this.#isFirstNewer = isNewerA
      await this.#restore(isNewerA ? COPIES[1] : COPIES[0], newest)
    }
    return newest
  }

  /**
   * Durable, in both copies, when it resolves: what the last one named may go then. The older or
   * worse copy is written first, so that a write that is cut off leaves the other one.
   */
  async write(manifest: Manifest): Promise<void> {
    const bytes = encodeManifest(manifest)
    const copies = this.#isFirstNewer ? COPIES.toReversed() : COPIES
    for (const name of copies) {
      // Until it is written whole it is the one that may be spoilt.
      this.#isFirstNewer = name === COPIES[1]
      await this.#writeCopy(name, bytes)
      if (!this.#isNamed) await this.#files.syncDirectory(this.#directory)
    }
    this.#isFirstNewer = false
    this.#isNamed = true
  }

  async #restore(name: string, newest: Manifest): Promise<void> {
    try {
      await this.#writeCopy(name, encodeManifest(newest))
      await this.#files.syncDirectory(this.#directory)
    } catch (error) {
      this.#log.warn('a copy of the manifest could not be made like the other one', {
        file: `${this.#directory}/${name}`,
        reason: String(error),
      })
    }
  }

  async #writeCopy(name: string, bytes: Buffer): Promise<void> {
    const file = await this.#files.open(`${this.#directory}/${name}`, 'write')
    try {
      await file.truncate(bytes.length)
      await file.write([bytes], 0)
      await file.datasync()
    } finally {
      await file.close()
    }
  }
}
