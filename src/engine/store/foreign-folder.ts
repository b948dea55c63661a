import type { Files } from '../../core/platform/index.ts'
import { recordSize } from '../../model/message/index.ts'
import { exportsCrc, hasAbortFile } from './apache-files.ts'
import type { Manifest } from './manifest.ts'
import type { SegmentFiles } from './segment-files.ts'

/** Whether another broker had the folder since we last wrote our manifest. */
export async function isForeignFolder(parts: {
  files: Files
  directory: string
  manifest: Manifest | undefined
  segments: SegmentFiles
}): Promise<boolean> {
  const { files, directory, manifest, segments } = parts
  if (manifest === undefined) return !segments.isEmpty
  const { cleanStop } = manifest
  // An unclean stop of ours leaves the file that says so; only another broker takes it away.
  if (cleanStop === undefined) return !(await hasAbortFile(files, directory))
  const head = Buffer.alloc(8)
  const got = await segments.read(head, cleanStop.endOffset)
  const hasMore = got === head.length && recordSize(head, 0) !== 0
  return hasMore || (await exportsCrc(files, directory)) !== cleanStop.exportsCrc
}
