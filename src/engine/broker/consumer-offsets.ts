import type { Clock, Log, Timer, Timers } from '../../core/platform/index.ts'
import { DataVersion } from './data-version.ts'
import { isJsonObject, JsonFile, type JsonObject } from './json-file.ts'
import type { TablePlatform } from './topics.ts'

/** Consumer offsets are written this often when they have changed. */
export const OFFSETS_INTERVAL_MS = 5000

const MISSED =
  'consumer groups begin again where new groups do: they may get messages a second time, or pass ' +
  'over some'

const INT32_MAX = 2_147_483_647

type Queues = Map<number, number>

/**
 * How far each group has consumed each queue: the offset of the next message to consume. Kept in
 * memory, written to `config/consumerOffset.json` every five seconds and at stop: after a crash
 * a group sees again at most what it consumed since.
 */
export class ConsumerOffsets {
  readonly #clock: Clock
  readonly #log: Log
  readonly #timers: Timers
  readonly #groups = new Map<string, Map<string, Queues>>()
  readonly #version: DataVersion
  readonly #file: JsonFile
  #origin: JsonObject = {}
  #dirty = false
  /** The latest write, under way or over. */
  #writing: Promise<void> = Promise.resolve()
  #timer: Timer | undefined

  private constructor(directory: string, platform: TablePlatform & { readonly timers: Timers }) {
    this.#clock = platform.clock
    this.#log = platform.log
    this.#timers = platform.timers
    this.#version = new DataVersion(platform.clock.timeMs())
    // There is none before a group has committed something.
    const missed = { meaning: MISSED, isExpected: false }
    const at = { ...platform, directory, name: 'consumerOffset.json', missed }
    this.#file = new JsonFile(at, () => this.#render())
  }

  /** `directory` is the folder `config`. Errors: STORE_DAMAGED, STORE_FAILED. */
  static async open(
    directory: string,
    platform: TablePlatform & { readonly timers: Timers },
  ): Promise<ConsumerOffsets> {
    const offsets = new ConsumerOffsets(directory, platform)
    const json = await offsets.#file.load()
    if (json !== undefined) offsets.#adopt(json)
    return offsets
  }

  /** Writes every five seconds from now on. */
  start(): void {
    this.#timer = this.#timers.after(OFFSETS_INTERVAL_MS, () => {
      this.start()
      // A failed write is logged by the file and tried again in five seconds.
      this.flush().catch(() => undefined)
    })
  }

  /** Ends the writing, after a last one. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    // One that is under way and fails leaves its work to the last one.
    await this.#writing.catch(() => undefined)
    await this.flush()
  }

  /** All that is committed is durable when it resolves; writes only when something has changed. */
  flush(): Promise<void> {
    if (this.#dirty) this.#writing = this.#write()
    return this.#writing
  }

  async #write(): Promise<void> {
    this.#dirty = false
    this.#version.bump(this.#clock.timeMs())
    try {
      await this.#file.save()
    } catch (error) {
      this.#dirty = true
      throw error
    }
  }

  /** Offset of the next message to consume; `undefined` when none was ever committed. */
  find(group: string, topic: string, queueId: number): number | undefined {
    return this.#groups.get(group)?.get(topic)?.get(queueId)
  }

  /**
   * Any whole number from 0 on is taken, also one before the last. The caller has checked that
   * group, topic and queue exist: what is committed here stays in memory.
   */
  commit(group: string, topic: string, queueId: number, offset: number): void {
    let topics = this.#groups.get(group)
    if (topics === undefined) this.#groups.set(group, (topics = new Map()))
    let queues = topics.get(topic)
    if (queues === undefined) topics.set(topic, (queues = new Map()))
    if (queues.get(queueId) === offset) return
    queues.set(queueId, offset)
    this.#dirty = true
  }

  #adopt(json: JsonObject): void {
    this.#origin = json
    this.#version.adopt(json['dataVersion'], this.#clock.timeMs())
    const table = json['offsetTable']
    if (!isJsonObject(table)) return
    for (const [key, queues] of Object.entries(table)) {
      // A group name may not hold an @, whatever the topic's does.
      const separator = key.lastIndexOf('@')
      if (separator > 0 && isJsonObject(queues)) {
        this.#adoptQueues(key.slice(separator + 1), key.slice(0, separator), queues)
      } else {
        this.#log.warn('an entry of consumerOffset.json is left out', { key: key.slice(0, 400) })
      }
    }
    this.#dirty = false
  }

  #adoptQueues(group: string, topic: string, queues: JsonObject): void {
    for (const [queueId, offset] of Object.entries(queues)) {
      const id = Number(queueId)
      const isQueue = /^\d{1,10}$/.test(queueId) && id <= INT32_MAX
      if (isQueue && typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0) {
        this.commit(group, topic, id, offset)
      }
    }
  }

  #render(): string {
    const entries: [string, JsonObject][] = []
    for (const [group, topics] of this.#groups) {
      for (const [topic, queues] of topics) {
        entries.push([`${topic}@${group}`, Object.fromEntries(queues)])
      }
    }
    const offsetTable = Object.fromEntries(entries)
    const json = { ...this.#origin, dataVersion: this.#version.toJson(), offsetTable }
    return JSON.stringify(json, undefined, 1)
  }
}
