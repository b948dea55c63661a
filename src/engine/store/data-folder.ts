import {
  type DirectoryLock,
  makeDurableDirectory,
  type Platform,
} from '../../core/platform/index.ts'
import { checkNeverOurs } from './lost-manifest.ts'
import { type Manifest, ManifestFile } from './manifest.ts'
import { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'

/** A data folder that is ours until the lock is released. */
export interface DataFolder {
  readonly lock: DirectoryLock
  /** Of the commit log; not looked at yet beyond their names. */
  readonly segments: SegmentFiles
  readonly manifestFile: ManifestFile
  /** What the last checkpoint says; `undefined` in a new folder, or another broker's. */
  readonly manifest: Manifest | undefined
}

/**
 * Takes the folder's lock, makes the folders in it that are missing, and reads the manifest.
 *
 * Errors: `STORE_LOCKED`, `STORE_DAMAGED`, `STORE_FULL`, `STORE_FAILED`; the lock is free then.
 */
export async function openDataFolder(
  options: StoreOptions,
  platform: Platform,
): Promise<DataFolder> {
  const { files } = platform
  const { directory, segmentBytes } = options
  await makeDurableDirectory(files, directory)
  const lock = await files.lock(directory)
  try {
    for (const name of ['commitlog', 'consumequeue', 'config', 'orrery']) {
      await files.makeDirectory(`${directory}/${name}`)
    }
    await files.syncDirectory(directory)
    // A killed process may have replaced files there and not synced the names.
    for (const name of ['config', 'orrery']) await files.syncDirectory(`${directory}/${name}`)
    const segments = new SegmentFiles(files, `${directory}/commitlog`, {
      segmentBytes,
      root: directory,
    })
    await segments.load()
    const manifestFile = new ManifestFile(files, `${directory}/orrery`, platform.log)
    const manifest = await manifestFile.read()
    if (manifest === undefined) await checkNeverOurs(files, directory, platform.log)
    return { lock, segments, manifestFile, manifest }
  } catch (error) {
    await lock.release()
    throw error
  }
}
