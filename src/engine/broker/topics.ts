import { BrokerError } from '../../core/base/index.ts'
import type { Clock, Files, Log } from '../../core/platform/index.ts'
import {
  AUTO_CREATE_TOPIC,
  checkTopicName,
  deadLetterTopic,
  isSystemTopic,
  retryTopic,
  SCHEDULE_TOPIC,
} from '../../model/message/index.ts'
import type { ConsumeQueue } from '../store/index.ts'
import { DataVersion } from './data-version.ts'
import { isJsonObject, JsonFile, type JsonObject } from './json-file.ts'
import { systemTopics } from './system-topics.ts'
import {
  checkTopicSettings,
  plainTopic,
  settingsOf,
  topicSettingsFromJson,
  topicJson,
  type TopicSettings,
} from './topic-settings.ts'
import { WrittenSettings } from './written-settings.ts'

/** Most topics that requests may bring about, so that no client can fill memory with names. */
export const TOPIC_COUNT_MAX = 50_000

const MISSED =
  'topics are unknown until they are made again, by hand or, with default settings, by the next ' +
  'send or due message; what is in their queues is still there'

/** One topic. The object stays the same for as long as the topic exists; its settings change. */
export interface Topic extends TopicSettings {
  readonly name: string
  /** `name` in UTF-8, as records hold it. */
  readonly topicBytes: Buffer
  /** Queues by number, filled by whoever looks them up. */
  readonly queues: (ConsumeQueue | undefined)[]
  /**
   * Pending while the topic's first write is under way: no success that depends on the topic may
   * be answered before; it rejects when the write fails. `undefined` once it is durable.
   */
  readonly durable: Promise<void> | undefined
}

type MutableTopic = { -readonly [K in keyof Topic]: Topic[K] } & {
  /** What the file held of it, with fields that we do not know. */
  origin: JsonObject
}

export interface TopicTableOptions {
  /** The folder `config` of the data folder. */
  readonly directory: string
  readonly brokerName: string
  readonly clusterName: string
  /** Whether a send to an unknown topic makes it. */
  readonly autoCreate: boolean
  /** Most queues that such a topic gets. */
  readonly defaultQueueCount: number
  /** Delay levels, each of which has a queue. */
  readonly levelCount: number
  /** Whether the log holds messages: the file must be there then. */
  readonly hasMessages: boolean
}

/** What the tables of the broker need from outside. */
export interface TablePlatform {
  readonly files: Files
  readonly clock: Clock
  readonly log: Log
}

/** All topics, in `config/topics.json` in Apache's shape. */
export class TopicTable {
  readonly #options: TopicTableOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #topics = new Map<string, MutableTopic>()
  readonly #version: DataVersion
  readonly #file: JsonFile
  readonly #written = new WrittenSettings<MutableTopic, TopicSettings>(topic => {
    return this.#changed(topic)
  })
  readonly #listeners = new Set<(topic: Topic) => void>()
  #origin: JsonObject = {}

  private constructor(options: TopicTableOptions, platform: TablePlatform) {
    this.#options = options
    this.#clock = platform.clock
    this.#log = platform.log
    this.#version = new DataVersion(platform.clock.timeMs())
    const { directory, hasMessages } = options
    const missed = { meaning: MISSED, isExpected: hasMessages }
    const at = { ...platform, directory, name: 'topics.json', missed }
    this.#file = new JsonFile(at, () => this.#render())
  }

  /** Errors: STORE_DAMAGED when the file cannot be read, STORE_FAILED, STORE_FULL. */
  static async open(options: TopicTableOptions, platform: TablePlatform): Promise<TopicTable> {
    const table = new TopicTable(options, platform)
    const json = await table.#file.load()
    if (json !== undefined) table.#adopt(json)
    const added = table.#addSystemTopics()
    if (json === undefined) await table.#file.save()
    else if (added) await table.#file.saveIfRoom()
    return table
  }

  find(name: string): Topic | undefined {
    return this.#topics.get(name)
  }

  /** Errors: TOPIC_NOT_FOUND. */
  get(name: string): Topic {
    const topic = this.#topics.get(name)
    if (topic === undefined) throw new BrokerError('TOPIC_NOT_FOUND', { topic: shown(name) })
    return topic
  }

  all(): Iterable<Topic> {
    return this.#topics.values()
  }

  get count(): number {
    return this.#topics.size
  }

  /** True also for the topics that bear the cluster's and the broker's name. */
  isSystem(name: string): boolean {
    const { brokerName, clusterName } = this.#options
    return (
      isSystemTopic(name) ||
      name === brokerName ||
      name === clusterName ||
      name === `${clusterName}_REPLY_TOPIC`
    )
  }

  /**
   * The topic of a send, made when it is missing: it can be written to at once, and is durable
   * when `topic.durable` has resolved.
   *
   * Errors: TOPIC_NAME_INVALID; TOPIC_NOT_FOUND when making is off; TOO_MANY_TOPICS.
   */
  createOnUse(name: string, wishedQueueCount: number, topicSysFlag = 0): Topic {
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    checkTopicName(name)
    const template = this.#topics.get(AUTO_CREATE_TOPIC)
    if (template === undefined) throw new BrokerError('TOPIC_NOT_FOUND', { topic: name })
    const queueCount = Math.max(1, Math.min(wishedQueueCount, template.writeQueueCount))
    return this.#create(name, { ...plainTopic(queueCount), topicSysFlag })
  }

  /** The retry topic of a group, made when it is missing. Errors: TOO_MANY_TOPICS. */
  retryTopicOf(group: string, queueCount: number, topicSysFlag = 0): Topic {
    return this.#ensure(retryTopic(group), { ...plainTopic(queueCount), topicSysFlag })
  }

  /** The dead letter topic of a group, made when it is missing. Errors: TOO_MANY_TOPICS. */
  deadLetterTopicOf(group: string): Topic {
    return this.#ensure(deadLetterTopic(group), plainTopic(1))
  }

  /**
   * Makes or changes a topic on request; durable when it resolves.
   *
   * Errors: TOPIC_NAME_INVALID, PARAMETER_INVALID (also for a topic of the system),
   * TOO_MANY_TOPICS, STORE_FAILED, STORE_FULL.
   */
  async update(name: string, settings: TopicSettings): Promise<Topic> {
    checkTopicName(name)
    checkTopicSettings(settings)
    if (this.isSystem(name)) {
      throw new BrokerError('PARAMETER_INVALID', { topic: name, problem: 'it is a system topic' })
    }
    const known = this.#topics.get(name)
    if (known === undefined) {
      const created = this.#create(name, settings)
      await created.durable
      return created
    }
    await this.#written.change(known, settingsOf(known), settings)
    return known
  }

  /** Called after each change, before it is durable. Returns a function that ends it. */
  onChange(listener: (topic: Topic) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #ensure(name: string, settings: TopicSettings): Topic {
    return this.#topics.get(name) ?? this.#create(name, settings)
  }

  #create(name: string, settings: TopicSettings): Topic {
    if (this.#topics.size >= TOPIC_COUNT_MAX) {
      throw new BrokerError('TOO_MANY_TOPICS', {
        topic: shown(name),
        topicCountMax: TOPIC_COUNT_MAX,
      })
    }
    const topic = this.#add(name, settings, {})
    const durable = this.#changed(topic)
    topic.durable = durable
    durable.then(
      () => {
        topic.durable = undefined
      },
      // Taken back, so that the next use of the name tries again.
      () => {
        if (this.#topics.get(name) === topic) this.#topics.delete(name)
      },
    )
    this.#log.info('topic created', { topic: name, queues: settings.writeQueueCount })
    return topic
  }

  #changed(topic: Topic): Promise<void> {
    this.#version.bump(this.#clock.timeMs())
    for (const listener of this.#listeners) listener(topic)
    return this.#file.save()
  }

  #add(name: string, settings: TopicSettings, origin: JsonObject): MutableTopic {
    const topicBytes = Buffer.from(name)
    const topic: MutableTopic = {
      ...settings,
      name,
      topicBytes,
      queues: [],
      durable: undefined,
      origin,
    }
    this.#topics.set(name, topic)
    return topic
  }

  #adopt(json: JsonObject): void {
    this.#origin = json
    this.#version.adopt(json['dataVersion'], this.#clock.timeMs())
    const table = json['topicConfigTable']
    if (!isJsonObject(table)) return
    for (const [name, config] of Object.entries(table)) {
      if (isJsonObject(config) && this.#isUsable(name)) {
        this.#add(name, topicSettingsFromJson(config), config)
      }
    }
  }

  /** Names become folders: one that no request could have made is left out. */
  #isUsable(name: string): boolean {
    // Without it no topic is made on use: whether it is there is an option, not a memory.
    if (name === AUTO_CREATE_TOPIC) return false
    try {
      checkTopicName(name)
      return true
    } catch {
      this.#log.warn('a topic in topics.json has an impossible name, it is left out', {
        topic: shown(name),
      })
      return false
    }
  }

  /** Returns whether anything was missing. */
  #addSystemTopics(): boolean {
    let added = false
    for (const [name, settings] of systemTopics(this.#options)) {
      const known = this.#topics.get(name)
      if (known === undefined) {
        this.#add(name, settings, {})
        added = true
      } else if (name === SCHEDULE_TOPIC && known.writeQueueCount < settings.writeQueueCount) {
        Object.assign(known, settings)
        added = true
      }
    }
    return added
  }

  #render(): string {
    const configs = Array.from(this.#topics.values(), topic => {
      const config = topicJson(topic.name, topic, topic.origin)
      return [topic.name, config] as const
    })
    const topicConfigTable = Object.fromEntries(configs)
    const json = { ...this.#origin, dataVersion: this.#version.toJson(), topicConfigTable }
    return JSON.stringify(json, undefined, 1)
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 255))
}
