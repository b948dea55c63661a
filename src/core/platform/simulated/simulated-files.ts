import { assert, BrokerError, operatingError } from '../../base/index.ts'
import type { DirectoryLock, File, Files } from '../files.ts'
import { DiskKeyValues } from './disk-key-values.ts'
import type { Faults, FileCall } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { Scheduler } from './scheduler.ts'
import { DiskDirectory, type DiskNode, failed, type SimulatedDisk } from './simulated-disk.ts'
import { SimulatedFile } from './simulated-file.ts'
import { neverSettled, type SimulatedProcess } from './simulated-process.ts'

const CALL_MS_MIN = 0.01
const CALL_MS_MAX = 2

/** What the files of one process are made of. */
export interface FilesSetting {
  readonly scheduler: Scheduler
  readonly process: SimulatedProcess
  readonly disk: SimulatedDisk
  /** Held locks, of all processes. */
  readonly locks: Map<DiskNode, SimulatedProcess>
  readonly random: SeededRandom
  /** `undefined`: nothing goes wrong for this process. */
  readonly faults: Faults | undefined
  /** Every call takes the least time. */
  readonly isPrompt: boolean
}

/** A call as it is made. */
export interface CallFacts<T> {
  readonly call: FileCall
  readonly path: string
  readonly position?: number
  readonly sizeBytes?: number
  /** Happens when the call completes, and may have happened when the process dies before. */
  readonly effect: () => T
  /** What the call does when it is made to fail. */
  readonly failureEffect?: () => void
  /** What it may have done when the process dies meanwhile, other than all or nothing. */
  readonly deathEffect?: () => void
}

/** The simulated disk as one process sees it. */
export class SimulatedFiles implements Files {
  readonly setting: FilesSetting
  readonly #inFlight = new Set<CallFacts<unknown>>()

  constructor(setting: FilesSetting) {
    this.setting = setting
    setting.process.onDeath(() => {
      this.#interrupt()
    })
  }

  open(path: string, mode: 'read' | 'write'): Promise<File> {
    const { disk } = this.setting
    const effect = (): File => {
      let node = disk.find(path)
      if (node instanceof DiskDirectory) throw failed(path, 'EISDIR')
      if (node instanceof DiskKeyValues) throw failed(path, 'EACCES')
      if (node === undefined && mode === 'read') throw failed(path, 'ENOENT')
      node ??= disk.createFile(path)
      return new SimulatedFile({ path, files: this, node, writable: mode === 'write' })
    }
    return this.perform({ call: 'open', path, effect })
  }

  sizeOf(path: string): Promise<number | undefined> {
    const effect = (): number | undefined => {
      const node = this.setting.disk.find(path)
      return node === undefined || node instanceof DiskDirectory
        ? undefined
        : node.current.sizeBytes
    }
    return this.perform({ call: 'sizeOf', path, effect })
  }

  list(directory: string): Promise<readonly string[]> {
    const effect = (): readonly string[] => {
      const node = this.setting.disk.find(directory)
      if (node === undefined) return []
      if (!(node instanceof DiskDirectory)) throw failed(directory, 'ENOTDIR')
      return [...node.current.keys()].toSorted()
    }
    return this.perform({ call: 'list', path: directory, effect })
  }

  makeDirectory(path: string): Promise<void> {
    const effect = (): void => {
      this.setting.disk.makeDirectory(path)
    }
    return this.perform({ call: 'makeDirectory', path, effect })
  }

  remove(path: string): Promise<void> {
    const effect = (): void => {
      this.setting.disk.remove(path)
    }
    return this.perform({ call: 'remove', path, effect })
  }

  rename(from: string, to: string): Promise<void> {
    const effect = (): void => {
      this.setting.disk.rename(from, to)
    }
    return this.perform({ call: 'rename', path: from, effect })
  }

  syncDirectory(path: string): Promise<void> {
    const effect = (): void => {
      this.setting.disk.syncDirectory(path)
    }
    return this.perform({ call: 'syncDirectory', path, effect })
  }

  space(path: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
    const effect = (): { readonly freeBytes: number; readonly totalBytes: number } => {
      if (this.setting.disk.find(path) === undefined) throw failed(path, 'ENOENT')
      return this.setting.disk.space()
    }
    return this.perform({ call: 'space', path, effect })
  }

  lock(directory: string): Promise<DirectoryLock> {
    const { disk, locks, process } = this.setting
    const effect = (): DirectoryLock => {
      disk.makeDirectory(directory)
      const node = disk.find(directory)
      assert(node !== undefined, 'the directory was made')
      if (locks.get(node)?.alive === true) {
        throw new BrokerError('STORE_LOCKED', { path: directory, reason: 'EADDRINUSE' })
      }
      locks.set(node, process)
      let held = true
      const release = (): void => {
        if (held) locks.delete(node)
        held = false
      }
      return {
        release: () => this.perform({ call: 'close', path: directory, effect: release }),
      }
    }
    return this.perform({ call: 'lock', path: directory, effect })
  }

  /** Makes a call: it completes some time later, unless it fails or the process dies before. */
  perform<T>(facts: CallFacts<T>): Promise<T> {
    const { scheduler, process, random, faults } = this.setting
    if (!process.alive) return neverSettled()
    const { call, path, position = 0, sizeBytes = 0 } = facts
    scheduler.note(`${call} ${path}`, position + sizeBytes)
    faults?.onCall?.({ call, path, position, sizeBytes })
    const failure = faults?.failureOf(call, path)
    // A call that is to fail has not happened yet when the process dies before.
    if (failure === undefined) this.#inFlight.add(facts)
    return new Promise((resolve, reject) => {
      process.schedule(this.#delayMs(random), () => {
        this.#inFlight.delete(facts)
        try {
          if (failure !== undefined) {
            facts.failureEffect?.()
            throw failure
          }
          resolve(facts.effect())
        } catch (error) {
          // A broken invariant is the caller's mistake and must stop the run, not one operation.
          if (error instanceof BrokerError) reject(error)
          else throw error
        }
      })
    })
  }

  #delayMs(random: SeededRandom): number {
    const { faults, isPrompt } = this.setting
    if (isPrompt) return CALL_MS_MIN
    if (faults !== undefined && random.chance(faults.rates.slowCall)) {
      faults.count('slowCall')
      return 20 + 20 * random.fraction()
    }
    // Most calls are short: the square favours small delays.
    return CALL_MS_MIN + (CALL_MS_MAX - CALL_MS_MIN) * random.fraction() ** 2
  }

  #interrupt(): void {
    const { random } = this.setting
    for (const facts of this.#inFlight) {
      const fate = random.below(3)
      try {
        if (fate === 0) facts.effect()
        else if (fate === 1) facts.deathEffect?.()
      } catch (error) {
        operatingError(error)
      }
    }
    this.#inFlight.clear()
  }
}
