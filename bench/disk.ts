import { open, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { percentile } from './statistics.ts'

const BLOCK_BYTES = 4096
const BLOCK_COUNT = 1024

/** Milliseconds of 4 KB written and `fdatasync`. */
export interface DiskSpeed {
  readonly p50: number
  readonly p99: number
  readonly sampleCount: number
}

/** Measures while nothing else runs: `count` writes one after the other. */
export async function measureDisk(directory: string, count: number): Promise<DiskSpeed> {
  const probe = await DiskProbe.open(directory)
  for (let i = 0; i < count; i++) await probe.sample()
  return probe.close()
}

/**
 * Measures beside a benchmark: one write every `intervalMs`, few enough not to disturb it. The
 * returned function ends it.
 */
export async function watchDisk(
  directory: string,
  intervalMs: number,
): Promise<() => Promise<DiskSpeed>> {
  const probe = await DiskProbe.open(directory)
  const ended = new AbortController()
  const loop = (async () => {
    while (!ended.signal.aborted) {
      await probe.sample()
      await sleep(intervalMs)
    }
  })()
  return async () => {
    ended.abort()
    await loop
    return probe.close()
  }
}

/** Writes into space that exists already, as a log with prepared files does. */
class DiskProbe {
  readonly #path: string
  readonly #file: FileHandle
  readonly #block: Buffer = Buffer.alloc(BLOCK_BYTES, 1)
  readonly #samplesMs: number[] = []

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  static async open(directory: string): Promise<DiskProbe> {
    const path = join(directory, 'disk-probe')
    const file = await open(path, 'w')
    await file.write(Buffer.alloc(BLOCK_BYTES * BLOCK_COUNT), 0, undefined, 0)
    await file.sync()
    return new DiskProbe(path, file)
  }

  async sample(): Promise<void> {
    const position = (this.#samplesMs.length % BLOCK_COUNT) * BLOCK_BYTES
    const start = performance.now()
    await this.#file.write(this.#block, 0, BLOCK_BYTES, position)
    await this.#file.datasync()
    this.#samplesMs.push(performance.now() - start)
  }

  async close(): Promise<DiskSpeed> {
    await this.#file.close()
    await unlink(this.#path)
    return {
      p50: percentile(this.#samplesMs, 0.5),
      p99: percentile(this.#samplesMs, 0.99),
      sampleCount: this.#samplesMs.length,
    }
  }
}
