import { ManifestFields } from '../../store/index.ts'
import { type ChunkSection, chunkSectionOf } from '../chunk-section.ts'

/** What the manifest says of the ladder. */
export interface LadderSection {
  /** F: everything due up to here has been delivered, or is tracked by the parked store. */
  readonly firedMs: number
  /** Timers of chunks that have fired although they are due after F. */
  readonly firedAhead: readonly number[]
  readonly nextChunkNumber: number
  readonly partitions: readonly PartitionSection[]
}

export interface PartitionSection {
  readonly rung: string
  readonly startMs: number
  readonly isSplit: boolean
  readonly chunks: readonly LadderChunkSection[]
}

export interface LadderChunkSection extends ChunkSection {
  /** Path in the folder of the ladder: of the partition that the chunk was made for. */
  readonly file: string
}

const NEW_LADDER: LadderSection = {
  firedMs: 0,
  firedAhead: [],
  nextChunkNumber: 1,
  partitions: [],
}

/** The section as it was read; `undefined` is that of a new store. Errors: STORE_DAMAGED. */
export function ladderSectionOf(section: unknown): LadderSection {
  if (section === undefined) return NEW_LADDER
  const fields = new ManifestFields(section, 'sections.ladder')
  return {
    firedMs: fields.timeMs('firedMs'),
    firedAhead: fields.counts('firedAhead'),
    nextChunkNumber: fields.count('nextChunkNumber'),
    partitions: fields.objects('partitions').map(partitionSectionOf),
  }
}

function partitionSectionOf(fields: ManifestFields): PartitionSection {
  const rung = fields.text('rung')
  const startMs = fields.timeMs('startMs')
  return {
    rung,
    startMs,
    isSplit: fields.flag('isSplit'),
    chunks: fields.objects('chunks').map(chunk => {
      const section = chunkSectionOf(chunk)
      // Older builds never handed a chunk down to another partition.
      const isNamed = chunk.has('file')
      const file = isNamed ? chunk.text('file') : chunkFile(rung, startMs, section.number)
      return { ...section, file }
    }),
  }
}

/** The file of a chunk that is made for a partition, in the folder of the ladder. */
export function chunkFile(rung: string, startMs: number, number: number): string {
  return `${rung}/${startMs}-${number}`
}
