import { readFileSync } from 'node:fs'

const INTERVAL_MS = 100

/** Anonymous memory of a process now, in bytes; `undefined` when it has ended. Linux only. */
export function anonymousBytes(pid: number): number | undefined {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return undefined
  }
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

/** Looks at a process ten times a second and keeps the highest figure. */
export class MemoryWatch {
  readonly #timer: NodeJS.Timeout
  #peakBytes = 0
  #sampleCount = 0

  constructor(pid: number) {
    const look = (): void => {
      const bytes = anonymousBytes(pid)
      if (bytes === undefined) return
      this.#peakBytes = Math.max(this.#peakBytes, bytes)
      this.#sampleCount++
    }
    look()
    this.#timer = setInterval(look, INTERVAL_MS)
  }

  /** The peak in MiB; throws when the process could never be read. */
  stop(): number {
    clearInterval(this.#timer)
    if (this.#sampleCount === 0) throw new Error('the memory of the process could not be read')
    return this.#peakBytes / 2 ** 20
  }
}
