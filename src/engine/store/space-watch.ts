import { operatingError } from '../../core/base/index.ts'
import type { Platform } from '../../core/platform/index.ts'
import { RepeatedWork } from './repeated-work.ts'

const LOOK_MS = 1_000

/** Looks how much room the disk has left, so that new messages can be refused in time. */
export class SpaceWatch {
  readonly #platform: Platform
  readonly #directory: string
  readonly #freeBytesMin: number
  readonly #looking: RepeatedWork
  #isLow = false

  constructor(platform: Platform, directory: string, freeBytesMin: number) {
    this.#platform = platform
    this.#directory = directory
    this.#freeBytesMin = freeBytesMin
    this.#looking = new RepeatedWork(platform, LOOK_MS, () => this.look())
  }

  /** True when less is left than new messages may use. */
  get isLow(): boolean {
    return this.#isLow
  }

  start(): void {
    this.#looking.start()
  }

  stop(): Promise<void> {
    return this.#looking.stop()
  }

  async look(): Promise<void> {
    const { log, files } = this.#platform
    try {
      const { freeBytes } = await files.space(this.#directory)
      const isLow = freeBytes < this.#freeBytesMin
      if (isLow !== this.#isLow) {
        log.warn(isLow ? 'disk space is low; new messages are refused' : 'disk space is back', {
          freeBytes,
        })
      }
      this.#isLow = isLow
    } catch (error) {
      log.warn('disk space is not known', { reason: operatingError(error).message })
    }
  }
}
