import { BrokerError } from '../../core/base/index.ts'
import type { Clock, Log } from '../../core/platform/index.ts'
import {
  checkGroupName,
  SELF_TEST_GROUP,
  TOOLS_GROUP,
  TRANSACTION_GROUP,
} from '../../model/message/index.ts'
import {
  defaultSubscriptionGroupConfig,
  subscriptionGroupConfigJson,
  type SubscriptionGroupConfig,
} from '../../model/wire/index.ts'
import { DataVersion } from './data-version.ts'
import { checkGroupConfig, groupSettingsFrom, type GroupSettings } from './group-settings.ts'
import { isJsonObject, JsonFile, type JsonObject } from './json-file.ts'
import type { TablePlatform } from './topics.ts'
import { WrittenSettings } from './written-settings.ts'

/** Most groups that requests may bring about, so that no client can fill memory with names. */
export const GROUP_COUNT_MAX = 50_000

const SYSTEM_GROUPS: readonly string[] = [
  TOOLS_GROUP,
  'FILTERSRV_CONSUMER',
  SELF_TEST_GROUP,
  'CID_ONS-HTTP-PROXY',
  'CID_ONSAPI_PULL',
  'CID_ONSAPI_PERMISSION',
  'CID_ONSAPI_OWNER',
  TRANSACTION_GROUP,
]

const MISSED =
  'consumer groups that are not made again by hand get default settings when they are next used'

/** One consumer group. The object stays the same; its settings change. */
export interface Group extends GroupSettings {
  readonly name: string
  /** Apache's SubscriptionGroupConfig, with fields that have no effect here. */
  readonly config: JsonObject
  /** Pending while the group's first write is under way; see `Topic.durable`. */
  readonly durable: Promise<void> | undefined
}

type StoredSettings = GroupSettings & { readonly config: JsonObject }

type MutableGroup = { -readonly [K in keyof Group]: Group[K] }

export interface GroupTableOptions {
  /** The folder `config` of the data folder. */
  readonly directory: string
  /** Whether a consumer of an unknown group makes it. */
  readonly autoCreate: boolean
  /** Whether the log holds messages: the file must be there then. */
  readonly hasMessages: boolean
}

/** All consumer groups, in `config/subscriptionGroup.json` in Apache's shape. */
export class GroupTable {
  readonly #options: GroupTableOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #groups = new Map<string, MutableGroup>()
  readonly #version: DataVersion
  readonly #file: JsonFile
  readonly #written = new WrittenSettings<MutableGroup, StoredSettings>(() => this.#changed())
  #origin: JsonObject = { forbiddenTable: {} }

  private constructor(options: GroupTableOptions, platform: TablePlatform) {
    this.#options = options
    this.#clock = platform.clock
    this.#log = platform.log
    this.#version = new DataVersion(platform.clock.timeMs())
    const { directory, hasMessages } = options
    const missed = { meaning: MISSED, isExpected: hasMessages }
    const at = { ...platform, directory, name: 'subscriptionGroup.json', missed }
    this.#file = new JsonFile(at, () => this.#render())
  }

  /** Errors: STORE_DAMAGED when the file cannot be read, STORE_FAILED, STORE_FULL. */
  static async open(options: GroupTableOptions, platform: TablePlatform): Promise<GroupTable> {
    const table = new GroupTable(options, platform)
    const json = await table.#file.load()
    if (json !== undefined) table.#adopt(json)
    const missing = SYSTEM_GROUPS.filter(name => !table.#groups.has(name))
    for (const name of missing) table.#set(name, defaultConfig(name))
    if (json === undefined) await table.#file.save()
    else if (missing.length > 0) await table.#file.saveIfRoom()
    return table
  }

  find(name: string): Group | undefined {
    return this.#groups.get(name)
  }

  /** Errors: GROUP_NOT_FOUND. */
  get(name: string): Group {
    const group = this.#groups.get(name)
    if (group === undefined) {
      throw new BrokerError('GROUP_NOT_FOUND', { group: JSON.stringify(name.slice(0, 120)) })
    }
    return group
  }

  /**
   * The group of a consumer, made when it is missing; durable when `group.durable` has resolved.
   *
   * Errors: GROUP_NAME_INVALID; GROUP_NOT_FOUND when making is off; TOO_MANY_GROUPS.
   */
  createOnUse(name: string): Group {
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    checkGroupName(name)
    if (!this.#options.autoCreate) return this.get(name)
    return this.#create(name, defaultConfig(name))
  }

  /**
   * Makes a group or replaces its settings; fields that only the file knows stay. Durable when it
   * resolves.
   *
   * Errors: GROUP_NAME_INVALID, PARAMETER_INVALID, TOO_MANY_GROUPS, STORE_FAILED, STORE_FULL.
   */
  async update(config: SubscriptionGroupConfig): Promise<Group> {
    const name = config.groupName
    checkGroupName(name)
    checkGroupConfig(config)
    const known = this.#groups.get(name)
    const fields = { ...known?.config, ...subscriptionGroupConfigJson(config) }
    if (known === undefined) {
      const created = this.#create(name, fields)
      await created.durable
      return created
    }
    await this.#written.change(known, settingsOf(known.config), settingsOf(fields))
    return known
  }

  #create(name: string, config: JsonObject): Group {
    this.#checkRoom(name)
    const group = this.#set(name, config)
    const durable = this.#changed()
    group.durable = durable
    durable.then(
      () => {
        group.durable = undefined
      },
      // Taken back, so that the next use of the name tries again.
      () => {
        if (this.#groups.get(name) === group) this.#groups.delete(name)
      },
    )
    this.#log.info('consumer group created', { group: name })
    return group
  }

  #checkRoom(name: string): void {
    if (this.#groups.size < GROUP_COUNT_MAX) return
    throw new BrokerError('TOO_MANY_GROUPS', { group: name, groupCountMax: GROUP_COUNT_MAX })
  }

  #set(name: string, config: JsonObject): MutableGroup {
    const group: MutableGroup = { ...settingsOf(config), name, durable: undefined }
    this.#groups.set(name, group)
    return group
  }

  #changed(): Promise<void> {
    this.#version.bump(this.#clock.timeMs())
    return this.#file.save()
  }

  #adopt(json: JsonObject): void {
    this.#origin = json
    this.#version.adopt(json['dataVersion'], this.#clock.timeMs())
    const table = json['subscriptionGroupTable']
    if (!isJsonObject(table)) return
    for (const [name, config] of Object.entries(table)) {
      if (isJsonObject(config)) this.#set(name, { ...config, groupName: name })
    }
  }

  #render(): string {
    const groups = Array.from(this.#groups.values(), group => [group.name, group.config] as const)
    const subscriptionGroupTable = Object.fromEntries(groups)
    const json = { ...this.#origin, dataVersion: this.#version.toJson(), subscriptionGroupTable }
    return JSON.stringify(json, undefined, 1)
  }
}

function settingsOf(config: JsonObject): StoredSettings {
  return { ...groupSettingsFrom(config), config }
}

function defaultConfig(name: string): JsonObject {
  return { ...subscriptionGroupConfigJson(defaultSubscriptionGroupConfig(name)) }
}
