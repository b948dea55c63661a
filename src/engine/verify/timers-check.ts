import type { Files } from '../../core/platform/index.ts'
import type { Manifest } from '../store/index.ts'
import { ladderSectionOf, parkedSectionOf, rungNamed, rungs } from '../timer/index.ts'
import { ChunkCheck, type ChunkChecks, type ChunkPlace } from './chunk-check.ts'
import type { Findings } from './findings.ts'

/** The chunks that a manifest names. Errors: STORE_DAMAGED for a section of another shape. */
export function chunksOf(directory: string, manifest: Manifest | undefined): readonly ChunkPlace[] {
  const places: ChunkPlace[] = []
  for (const partition of ladderSectionOf(manifest?.sections['ladder']).partitions) {
    const { rung, startMs } = partition
    const widthMs = rungNamed(rung)?.widthMs ?? 0
    for (const section of partition.chunks) {
      const path = `${directory}/orrery/ladder/${section.file}`
      places.push({ path, section, partition: { startMs, endMs: startMs + widthMs } })
    }
  }
  for (const section of parkedSectionOf(manifest?.sections['parked']).chunks) {
    const path = `${directory}/orrery/parked/${section.number}`
    places.push({ path, section, partition: undefined })
  }
  return places
}

/** Reads the chunks one after the other; returns how many messages they hold. */
export async function checkChunks(
  places: readonly ChunkPlace[],
  checks: ChunkChecks,
): Promise<number> {
  let count = 0
  for (const place of places) {
    const check = new ChunkCheck(place, checks)
    await check.run()
    count += check.count
  }
  return count
}

/** Files beside those that the manifest names go at the next start. */
export async function noteUnnamed(
  files: Files,
  directory: string,
  parts: {
    readonly named: readonly ChunkPlace[]
    readonly findings: Findings
    /** There is no manifest that could name them: then they are lost with it. */
    readonly isManifestLost: boolean
  },
): Promise<void> {
  const named = new Set(parts.named.map(place => place.path))
  const ladder = rungs.map(rung => `${directory}/orrery/ladder/${rung.name}`)
  for (const folder of [...ladder, `${directory}/orrery/parked`]) {
    for (const name of await files.list(folder)) {
      const path = `${folder}/${name}`
      if (named.has(path)) continue
      const size = (await files.sizeOf(path)) ?? 0
      const what = parts.isManifestLost
        ? 'waiting messages that were not checked, for no manifest names the file'
        : 'the manifest does not name the file; the next start removes it'
      parts.findings.note(path, [0, size], what)
    }
  }
}
