import type { File, Files, Platform } from '../../src/core/platform/index.ts'
import { type TimerRef, type TimerState, TimerStores } from '../../src/engine/timer/index.ts'
import type { Bug } from './setting.ts'

const LOG = /\/commitlog\//
const LADDER = /\/orrery\/ladder\b/
const MANIFEST = /\/orrery\/manifest-[ab]$/

/** A deliberate mistake that lies in the broker itself: for the life of this process. */
export function plantBug(bug: Bug): void {
  if (bug === 'ignore-fired') TimerStores.prototype.notePublished = () => undefined
  if (bug === 'cancel-unchecked') decideOnWhatWasSeen()
}

/** The platform of a broker that leaves out, or puts off, a sync, if that is the bug. */
export function platformWithBug(platform: Platform, bug: Bug): Platform {
  const { files } = platform
  if (bug === 'skip-fsync') return { ...platform, files: withFiles(files, LOG, unsynced) }
  if (bug === 'mark-unsynced')
    return { ...platform, files: withFiles(files, LADDER, marksUnsynced) }
  if (bug === 'manifest-first') return { ...platform, files: ladderAfterManifest(files) }
  return platform
}

type Look = (ref: TimerRef, decide: (state: TimerState) => TimerState) => Promise<TimerState>

/** What was true before a look counts, not what is true behind it. */
function decideOnWhatWasSeen(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const { find } = TimerStores.prototype
  const look = (timers: TimerStores, ref: TimerRef): Promise<TimerState> => {
    return find.call<TimerStores, Parameters<Look>, ReturnType<Look>>(timers, ref, seen => seen)
  }
  TimerStores.prototype.find = async function (this: TimerStores, ref, decide) {
    const state = await look(this, ref)
    await look(this, ref)
    return decide(state)
  }
}

function unsynced(file: File): Partial<File> {
  return {
    writeDurably: (parts, position) => file.write(parts, position),
    datasync: () => Promise.resolve(),
  }
}

/** A mark is the one byte that is written alone: only for it, the file is not synced. */
function marksUnsynced(file: File): Partial<File> {
  let hasOther = true
  return {
    write: async (parts, position) => {
      const isMark = parts.length === 1 && parts[0]?.length === 1
      hasOther ||= !isMark
      await file.write(parts, position)
    },
    datasync: async () => {
      if (!hasOther) return
      hasOther = false
      await file.datasync()
    },
  }
}

/** What a checkpoint has to sync of the ladder is done when its manifest is durable. */
function ladderAfterManifest(files: Files): Files {
  const owed = new Map<string, () => Promise<void>>()
  let copyCount = 0
  const putOff = (file: File): Partial<File> => ({
    datasync: () => {
      owed.set(file.path, () => file.datasync())
      return Promise.resolve()
    },
    close: () => {
      owed.delete(file.path)
      return file.close()
    },
  })
  const thenLadder = (file: File): Partial<File> => ({
    datasync: async () => {
      await file.datasync()
      if (++copyCount < 2) return
      copyCount = 0
      const syncs = [...owed.values()]
      owed.clear()
      for (const sync of syncs) await sync()
    },
  })
  const late = withFiles(withFiles(files, LADDER, putOff), MANIFEST, thenLadder)
  return {
    ...late,
    syncDirectory: path => {
      if (!LADDER.test(path)) return files.syncDirectory(path)
      owed.set(path, () => files.syncDirectory(path))
      return Promise.resolve()
    },
  }
}

/** The files at these paths are changed by `change`, all others are as they were. */
function withFiles(files: Files, paths: RegExp, change: (file: File) => Partial<File>): Files {
  return {
    open: async (path, mode) => {
      const file = await files.open(path, mode)
      return paths.test(path) ? changed(file, change(file)) : file
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

function changed(file: File, change: Partial<File>): File {
  return {
    path: file.path,
    read: (target, position) => file.read(target, position),
    write: (parts, position) => file.write(parts, position),
    writeDurably: (parts, position) => file.writeDurably(parts, position),
    truncate: sizeBytes => file.truncate(sizeBytes),
    sizeBytes: () => file.sizeBytes(),
    datasync: () => file.datasync(),
    close: () => file.close(),
    ...change,
  }
}
