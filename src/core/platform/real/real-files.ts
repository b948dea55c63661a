import fs from 'node:fs'
import { dirname } from 'node:path'
import { BrokerError } from '../../base/index.ts'
import type { DirectoryLock, File, Files } from '../files.ts'
import { lockDirectory } from './directory-lock.ts'
import { RealFile } from './real-file.ts'
import { directoryError, fileError, isMissing, reasonOf } from './system-error.ts'

type Done = (error?: NodeJS.ErrnoException | null) => void

/** The disk of the system. */
export class RealFiles implements Files {
  open(path: string, mode: 'read' | 'write'): Promise<File> {
    const { O_RDONLY, O_RDWR, O_CREAT } = fs.constants
    const flags = mode === 'read' ? O_RDONLY : O_RDWR | O_CREAT
    return new Promise((resolve, reject) => {
      fs.open(path, flags, 0o644, (error, descriptor) => {
        if (error !== null) reject(fileError(error, path))
        else resolve(new RealFile(path, descriptor))
      })
    })
  }

  sizeOf(path: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      fs.stat(path, (error, stats) => {
        if (error === null) resolve(stats.isFile() ? stats.size : undefined)
        else if (isMissing(error)) resolve(undefined)
        else reject(fileError(error, path))
      })
    })
  }

  list(directory: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      fs.readdir(directory, (error, names) => {
        // The order of `toSorted` without a comparator is the one that is promised: by code unit.
        if (error === null) resolve(names.toSorted())
        else if (error.code === 'ENOENT') resolve([])
        else reject(fileError(error, directory))
      })
    })
  }

  /** Level by level: Node's own way of making all of them never ends below `/proc`. */
  async makeDirectory(path: string): Promise<void> {
    const refusal = await tryMakeDirectory(path)
    if (refusal === undefined) return
    const parent = dirname(path)
    if (refusal.code !== 'ENOENT' || parent === path) throw directoryError(refusal, path)
    await this.makeDirectory(parent)
    const second = await tryMakeDirectory(path)
    if (second !== undefined) throw directoryError(second, path)
  }

  async remove(path: string): Promise<void> {
    const directory = await isDirectory(path)
    await callOn(path, done => {
      const forgiving: Done = error => {
        done(error && isMissing(error) ? null : error)
      }
      if (directory) fs.rmdir(path, forgiving)
      else fs.unlink(path, forgiving)
    })
  }

  rename(from: string, to: string): Promise<void> {
    return callOn(from, done => {
      fs.rename(from, to, done)
    })
  }

  async syncDirectory(path: string): Promise<void> {
    const descriptor = await new Promise<number>((resolve, reject) => {
      fs.open(path, fs.constants.O_RDONLY, (error, opened) => {
        if (error !== null) reject(fileError(error, path))
        else resolve(opened)
      })
    })
    try {
      await callOn(path, done => {
        fs.fsync(descriptor, done)
      })
    } finally {
      await callOn(path, done => {
        fs.close(descriptor, done)
      })
    }
  }

  space(path: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
    return new Promise((resolve, reject) => {
      fs.statfs(path, (error, stats) => {
        if (error !== null) {
          reject(fileError(error, path))
          return
        }
        const { bsize, bavail, blocks } = stats
        resolve({ freeBytes: bavail * bsize, totalBytes: blocks * bsize })
      })
    })
  }

  async lock(directory: string): Promise<DirectoryLock> {
    await this.makeDirectory(directory)
    const identity = await identityOf(directory)
    try {
      return await lockDirectory(identity)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const code = 'code' in error && error.code === 'EADDRINUSE' ? 'STORE_LOCKED' : 'STORE_FAILED'
      throw new BrokerError(code, { path: directory, reason: reasonOf(error) }, error)
    }
  }
}

function callOn(path: string, start: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start(error => {
      if (error) reject(fileError(error, path))
      else resolve()
    })
  })
}

/** Resolves to the system's refusal; `undefined` when the directory is there now. */
function tryMakeDirectory(path: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise(resolve => {
    fs.mkdir(path, error => {
      if (error === null) {
        resolve(undefined)
        return
      }
      // What is there already may be refused for other reasons, such as a disk to be read only.
      fs.stat(path, (unknown, stats) => {
        resolve(unknown === null && stats.isDirectory() ? undefined : error)
      })
    })
  })
}

function isDirectory(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    fs.lstat(path, (error, stats) => {
      if (error === null) resolve(stats.isDirectory())
      else if (isMissing(error)) resolve(false)
      else reject(fileError(error, path))
    })
  })
}

/** The same for every way to write the directory's name; device and inode need all 64 bits. */
function identityOf(directory: string): Promise<string> {
  return new Promise((resolve, reject) => {
    fs.stat(directory, { bigint: true }, (error, stats) => {
      if (error !== null) reject(fileError(error, directory))
      else resolve(`${stats.dev}-${stats.ino}`)
    })
  })
}
