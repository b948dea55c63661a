import { crc32, operatingError } from '../../core/base/index.ts'
import { type Files, readWholeFile } from '../../core/platform/index.ts'
import { decodeManifest, hasAbortFile, type Manifest } from '../store/index.ts'
import type { Findings } from './findings.ts'

const COPIES = ['manifest-a', 'manifest-b'] as const
const HEADER_BYTES = 32
const AT_PAYLOAD_BYTES = 16
const AT_HEADER_CRC = 28

export interface ManifestState {
  /** The newest whole copy; `undefined` when there is none. */
  readonly manifest: Manifest | undefined
  /** There are copies, and none can be read. */
  readonly isLost: boolean
}

interface Copy {
  readonly file: string
  readonly bytes: Buffer
  readonly manifest: Manifest | undefined
  /** What is wrong with it. */
  readonly damage: { readonly range: readonly [number, number]; readonly what: string } | undefined
}

/** Reads both copies of the manifest. See docs/formats/manifest.md. */
export async function checkManifest(
  files: Files,
  directory: string,
  findings: Findings,
): Promise<ManifestState> {
  const copies: Copy[] = []
  for (const name of COPIES) copies.push(await readCopy(files, `${directory}/orrery/${name}`))
  const manifest = newestOf(copies)
  const isThere = copies.some(copy => copy.bytes.length > 0)
  // A power cut may leave the copy torn that was being written, until the end of a clean stop.
  const isStopped = manifest?.cleanStop !== undefined && !(await hasAbortFile(files, directory))
  const kind = manifest !== undefined && !isStopped ? 'note' : 'damage'
  for (const copy of copies) {
    if (!isThere) continue
    const { file, bytes } = copy
    if (copy.damage !== undefined) {
      const [fromPosition, toPosition] = copy.damage.range
      findings.add({ kind, file, fromPosition, toPosition, what: copy.damage.what })
    } else if (copy.manifest?.generation !== manifest?.generation) {
      const what = 'this copy of the manifest is older than the other one'
      findings.note(file, [0, bytes.length], what)
    }
    noteRest(copy, findings)
  }
  return { manifest, isLost: isThere && manifest === undefined }
}

function newestOf(copies: readonly Copy[]): Manifest | undefined {
  let newest: Manifest | undefined
  for (const { manifest } of copies) {
    if ((manifest?.generation ?? 0) > (newest?.generation ?? 0)) newest = manifest
  }
  return newest
}

async function readCopy(files: Files, file: string): Promise<Copy> {
  const bytes = (await readWholeFile(files, file)) ?? Buffer.alloc(0)
  try {
    const manifest = decodeManifest(bytes)
    const damage = manifest === undefined ? damageOf(bytes) : undefined
    return { file, bytes, manifest, damage }
  } catch (error) {
    const { details } = operatingError(error)
    const what = `the manifest cannot be read: ${JSON.stringify(details)}`
    return { file, bytes, manifest: undefined, damage: { range: [0, bytes.length], what } }
  }
}

function damageOf(bytes: Buffer): Copy['damage'] {
  if (bytes.length < HEADER_BYTES) {
    return { range: [0, HEADER_BYTES], what: 'the manifest is missing or cut off' }
  }
  if (bytes.readUInt32BE(AT_HEADER_CRC) !== crc32(bytes, 0, AT_HEADER_CRC)) {
    return { range: [0, HEADER_BYTES], what: 'the header of the manifest has another checksum' }
  }
  const end = endOf(bytes)
  const isCut = end > bytes.length
  const what = isCut
    ? 'the manifest is cut off'
    : 'the payload of the manifest has another checksum'
  return { range: isCut ? [bytes.length, end] : [HEADER_BYTES, end], what }
}

function endOf(bytes: Buffer): number {
  return HEADER_BYTES + bytes.readUInt32BE(AT_PAYLOAD_BYTES)
}

function noteRest({ file, bytes, manifest }: Copy, findings: Findings): void {
  if (manifest === undefined || endOf(bytes) >= bytes.length) return
  findings.note(file, [endOf(bytes), bytes.length], 'bytes behind the manifest')
}
