import { ManifestFields } from '../../store/index.ts'
import { type ChunkSection, chunkSectionOf } from '../chunk-section.ts'

/** What the manifest says of the parked messages. */
export interface ParkedSection {
  readonly nextNumber: number
  readonly chunks: readonly ParkedChunkSection[]
}

export interface ParkedChunkSection extends ChunkSection {
  /** Timers that are delivered. */
  readonly gone: readonly number[]
}

/** The section as it was read; `undefined` is that of a new store. Errors: STORE_DAMAGED. */
export function parkedSectionOf(section: unknown): ParkedSection {
  if (section === undefined) return { nextNumber: 1, chunks: [] }
  const fields = new ManifestFields(section, 'sections.parked')
  const chunks = fields.objects('chunks')
  return {
    nextNumber: fields.count('nextNumber'),
    chunks: chunks.map(chunk => ({ ...chunkSectionOf(chunk), gone: chunk.counts('gone') })),
  }
}
