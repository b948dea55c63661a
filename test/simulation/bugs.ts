import type { File, Files, Platform } from '../../src/core/platform/index.ts'
import { TimerStores } from '../../src/engine/timer/index.ts'
import type { Bug } from './setting.ts'

/** A deliberate mistake that lies in the broker itself: for the life of this process. */
export function plantBug(bug: Bug): void {
  if (bug !== 'ignore-fired') return
  TimerStores.prototype.notePublished = () => undefined
}

/** The platform of a broker that leaves out the sync of its log, if that is the bug. */
export function platformWithBug(platform: Platform, bug: Bug): Platform {
  if (bug !== 'skip-fsync') return platform
  return { ...platform, files: withoutLogSync(platform.files) }
}

function withoutLogSync(files: Files): Files {
  return {
    open: async (path, mode) => {
      const file = await files.open(path, mode)
      return path.includes('/commitlog/') ? unsynced(file) : file
    },
    sizeOf: path => files.sizeOf(path),
    list: directory => files.list(directory),
    makeDirectory: path => files.makeDirectory(path),
    remove: path => files.remove(path),
    rename: (from, to) => files.rename(from, to),
    syncDirectory: path => files.syncDirectory(path),
    space: path => files.space(path),
    lock: directory => files.lock(directory),
  }
}

function unsynced(file: File): File {
  return {
    path: file.path,
    read: (target, position) => file.read(target, position),
    write: (parts, position) => file.write(parts, position),
    writeDurably: (parts, position) => file.write(parts, position),
    truncate: sizeBytes => file.truncate(sizeBytes),
    sizeBytes: () => file.sizeBytes(),
    datasync: () => Promise.resolve(),
    close: () => file.close(),
  }
}
