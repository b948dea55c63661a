interface OptionBase {
  /** What it does, what 0 or nothing means, and which failure it prevents. */
  readonly help: string
  /** True when a running broker takes a new value without a restart. */
  readonly reloadable: boolean
  /** RocketMQ's name of the same thing, as it stands in a `broker.conf`. */
  readonly brokerConf?: string
  /** How RocketMQ writes the value, where it differs: its unit, or its words for ours. */
  readonly brokerConfUnit?: 'h' | 's'
  readonly brokerConfValues?: Readonly<Record<string, string>>
}

interface TextOption extends OptionBase {
  readonly kind: 'text'
  readonly default: string
  /** A regular expression that the whole value matches, and the same in words. */
  readonly pattern: string
  readonly range: string
}

interface NumberOption extends OptionBase {
  /** `bytes` takes `64MiB`, `duration` takes `36h`; bare numbers are bytes and milliseconds. */
  readonly kind: 'integer' | 'bytes' | 'duration'
  readonly default: number
  readonly min: number
  readonly max: number
  readonly multipleOf?: number
}

interface SwitchOption extends OptionBase {
  readonly kind: 'boolean'
  readonly default: boolean
}

interface ChoiceOption extends OptionBase {
  readonly kind: 'choice'
  readonly default: string
  /** Each choice with what it means. */
  readonly choices: Readonly<Record<string, string>>
  /** Values that have a meaning which is not built, each with the sentence that refuses it. */
  readonly refused?: Readonly<Record<string, string>>
}

export type OptionSpec = TextOption | NumberOption | SwitchOption | ChoiceOption

/**
 * Every option of a broker. The flag (`--timer-delay-ms-max`), the environment variable
 * (`ORRERY_TIMER_DELAY_MS_MAX`), the key in `orrery.json` (`timer.delayMsMax`), `--help` and
 * `docs/operations/configuration.md` follow from it.
 */
export const optionTable = {
  data: {
    kind: 'text',
    default: './data',
    pattern: '.+',
    range: 'a path',
    help: 'Folder of everything the broker keeps; made when it is missing. One process at a time.',
    reloadable: false,
    brokerConf: 'storePathRootDir',
  },
  host: {
    kind: 'text',
    default: '127.0.0.1',
    pattern: '[^\\s/]+',
    range: 'an address or host name of this machine',
    help: 'Address to listen on. The default admits this machine only; 0.0.0.0 admits everybody, and then advertise tells clients where to connect.',
    reloadable: false,
  },
  nameserverPort: {
    kind: 'integer',
    default: 9876,
    min: 0,
    max: 65_535,
    help: 'Port of the name server, the address that clients are given. 0 takes any free one; the ready line tells which.',
    reloadable: false,
  },
  remotingPort: {
    kind: 'integer',
    default: 10_911,
    min: 0,
    max: 65_535,
    help: 'Port of the broker for RocketMQ clients. 0 takes any free one; the ready line tells which.',
    reloadable: false,
    brokerConf: 'listenPort',
  },
  'remoting.fastPort': {
    kind: 'boolean',
    default: true,
    help: 'Listen on remotingPort - 2 as well: clients of RocketMQ 4 send there when their option vipChannelEnabled is on, and fail to connect without it. No such port is opened when remotingPort is 0.',
    reloadable: false,
  },
  advertise: {
    kind: 'text',
    default: '',
    pattern: '(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}',
    range: 'host:port',
    help: 'Where clients reach remotingPort, when that differs from the address they used: behind NAT or in a container. Without it a client is sent to the local address of its own connection.',
    reloadable: false,
  },
  brokerName: {
    kind: 'text',
    default: 'broker-a',
    pattern: '[A-Za-z0-9_.-]{1,127}',
    range: '1 to 127 letters, digits, _ . or -',
    help: 'Name of the broker in routes. Clients keep offsets by it: do not change it on a folder in use.',
    reloadable: false,
    brokerConf: 'brokerName',
  },
  brokerClusterName: {
    kind: 'text',
    default: 'DefaultCluster',
    pattern: '[A-Za-z0-9_.-]{1,127}',
    range: '1 to 127 letters, digits, _ . or -',
    help: 'Name of the cluster that routes and tools show.',
    reloadable: false,
    brokerConf: 'brokerClusterName',
  },
  brokerId: {
    kind: 'integer',
    default: 0,
    min: 0,
    max: 0,
    help: 'RocketMQ numbers replicas from 1. There are none here, so only 0, the master, is taken: a configuration of a replica is refused instead of becoming a second master.',
    reloadable: false,
    brokerConf: 'brokerId',
  },
  flush: {
    kind: 'choice',
    default: 'sync',
    choices: {
      sync: 'a message is on disk before it is answered: by a durable write (O_DSYNC), or fdatasync',
      async:
        'it is written, and on disk within 500 ms; a power cut may lose what was answered in between, the end of the process does not',
    },
    help: 'When a message counts as accepted.',
    reloadable: false,
    brokerConf: 'flushDiskType',
    brokerConfValues: { SYNC_FLUSH: 'sync', ASYNC_FLUSH: 'async' },
  },
  retention: {
    kind: 'duration',
    default: 259_200_000,
    min: 60_000,
    max: 315_576_000_000,
    help: 'How long delivered messages stay readable. What still waits is never removed, however old. Too short a time loses messages for consumers that were away longer.',
    reloadable: false,
    brokerConf: 'fileReservedTime',
    brokerConfUnit: 'h',
  },
  diskFreeBytesMin: {
    kind: 'bytes',
    default: 268_435_456,
    min: 0,
    max: 1_099_511_627_776,
    help: 'Below this much free space new messages are refused with STORE_FULL, while delivery goes on and needs it. 0: only the full disk itself refuses, and due messages may then have to wait for space.',
    reloadable: false,
  },
  maxMessageSize: {
    kind: 'bytes',
    default: 4_194_304,
    min: 1024,
    max: 8_388_608,
    help: 'Largest body. Larger ones fail with MESSAGE_TOO_LARGE, so that no sender can fill the memory of broker and consumers.',
    reloadable: false,
    brokerConf: 'maxMessageSize',
  },
  autoCreateTopicEnable: {
    kind: 'boolean',
    default: true,
    help: 'Make a topic when the first message for it arrives. Off: sending to an unknown topic fails with TOPIC_NOT_FOUND, so that a typing error makes no topic.',
    reloadable: false,
    brokerConf: 'autoCreateTopicEnable',
  },
  defaultTopicQueueNums: {
    kind: 'integer',
    default: 8,
    min: 1,
    max: 1024,
    help: 'Most queues that a topic gets when it is made on first use. More consumers of one group than queues leave some idle.',
    reloadable: false,
    brokerConf: 'defaultTopicQueueNums',
  },
  messageDelayLevel: {
    kind: 'text',
    default: '1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h',
    pattern: '[1-9]\\d{0,8}[smhd]( [1-9]\\d{0,8}[smhd]){0,63}',
    range: '1 to 64 numbers with s, m, h or d, separated by one space',
    help: 'What the delay levels mean, from level 1 on. A change is for messages sent from then on; accepted ones keep their time.',
    reloadable: false,
    brokerConf: 'messageDelayLevel',
  },
  'timer.store': {
    kind: 'choice',
    default: 'ladder',
    choices: { ladder: 'partitions by due time; memory does not grow with how many wait' },
    refused: { wheel: 'the wheel store is not built yet; use ladder' },
    help: 'How messages with a deliver time lie on disk.',
    reloadable: false,
  },
  'timer.delayMsMax': {
    kind: 'duration',
    default: 315_576_000_000,
    min: 1000,
    max: 315_576_000_000,
    help: 'Longest accepted delay. Later deliver times fail with DELIVER_TIME_TOO_FAR, so that a wrong unit is noticed by the sender and not in a thousand years.',
    reloadable: false,
    brokerConf: 'timerMaxDelaySec',
    brokerConfUnit: 's',
  },
  'timer.overdueRateMax': {
    kind: 'integer',
    default: 50_000,
    min: 0,
    max: 10_000_000,
    help: 'Most overdue messages that are delivered in a second, oldest first, with those that fall due meanwhile in between. Overdue is what fell due while the broker was down, or while the clock jumped by more than 5 seconds. 0: as fast as the log takes them. The default is about half of that on two cores, so that consumers and senders are not pushed aside after an outage.',
    reloadable: false,
  },
  'timer.stagingBytes': {
    kind: 'bytes',
    default: 33_554_432,
    min: 1_048_576,
    max: 1_073_741_824,
    help: 'Memory for timer records between the commit log and their partitions. When it is full they are written early, in smaller pieces.',
    reloadable: false,
  },
  'timer.loadBytes': {
    kind: 'bytes',
    default: 12_582_912,
    min: 1_048_576,
    max: 1_073_741_824,
    help: 'Budget for loading partitions whole. The wider a partition, the longer it stays loaded and the smaller its share: 1/48 of this for 30 days, 1/24 for a day, 1/6 for an hour, 1/2 for a minute or a second, all of it for 20 ms. Larger ones are split first; those of 1 ms are read piece by piece, whatever their size. Holds memory down when a great many messages are due at once. Files larger than this are rewritten when most of what they hold was cancelled.',
    reloadable: false,
  },
  'window.messagesMax': {
    kind: 'integer',
    default: 1_000_000,
    min: 1000,
    max: 16_000_000,
    help: 'Messages in the loaded window that fires next, about 50 bytes of memory each. The last eighth is for topics that have little in it.',
    reloadable: false,
  },
  'window.bodyBytes': {
    kind: 'bytes',
    default: 25_165_824,
    min: 1_048_576,
    max: 1_073_741_824,
    help: 'Memory for the records of the window. What does not fit is read when it is due.',
    reloadable: false,
  },
  'log.segmentBytes': {
    kind: 'bytes',
    default: 1_073_741_824,
    min: 1_048_576,
    max: 2_147_479_552,
    multipleOf: 4096,
    help: 'Size of one file of the commit log, which retention removes as a whole. Fixed when the data folder is made.',
    reloadable: false,
    brokerConf: 'mappedFileSizeCommitLog',
  },
  'log.cacheBytes': {
    kind: 'bytes',
    default: 33_554_432,
    min: 1_048_576,
    max: 4_294_967_296,
    help: 'The newest part of the commit log, kept in memory: consumers that keep up read no disk.',
    reloadable: false,
  },
  'log.unappliedBytes': {
    kind: 'bytes',
    default: 16_777_216,
    min: 1_048_576,
    max: 1_073_741_824,
    help: 'Flushed but not yet in queues and timers. At this much the broker stops reading from senders, so that a burst cannot fill its memory.',
    reloadable: false,
  },
  messageIndexEnable: {
    kind: 'boolean',
    default: true,
    help: 'Keep the index by which messages are found by key and by unique key. Off saves its writes; what is stored meanwhile is not found later, and tools that query messages are refused.',
    reloadable: false,
    brokerConf: 'messageIndexEnable',
  },
  checkpointIntervalMs: {
    kind: 'duration',
    default: 5000,
    min: 100,
    max: 600_000,
    help: 'Longest time between two checkpoints. Longer ones save writes and make recovery after a crash slower.',
    reloadable: false,
  },
  checkpointBytes: {
    kind: 'bytes',
    default: 268_435_456,
    min: 1_048_576,
    max: 17_179_869_184,
    help: 'A checkpoint is taken at the latest after this much new log, which bounds what recovery must read again.',
    reloadable: false,
  },
  logLevel: {
    kind: 'choice',
    default: 'info',
    choices: {
      debug: 'single events, for finding faults',
      info: 'start, stop, and what changes',
      warn: 'what an operator should look at',
      error: 'what failed',
    },
    help: 'Lines of the log below this level are left out.',
    reloadable: false,
  },
  json: {
    kind: 'boolean',
    default: false,
    help: 'Print the ready line as one JSON object with all addresses, for scripts.',
    reloadable: false,
  },
} as const

export type OptionName = keyof typeof optionTable

/** In the order of the table. */
export const optionNames: readonly OptionName[] = Object.keys(optionTable).filter(isOptionName)

/** True for a key of the table. */
export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(optionTable, name)
}

type Value<S> = S extends { readonly kind: 'choice'; readonly choices: infer C }
  ? keyof C
  : S extends { readonly kind: 'text' }
    ? string
    : S extends { readonly kind: 'boolean' }
      ? boolean
      : number

type Table = typeof optionTable
type Section = OptionName extends infer N ? (N extends `${infer S}.${string}` ? S : never) : never

/**
 * The values that a broker runs with: `options.flush`, `options.timer.delayMsMax`. Durations are
 * milliseconds, sizes bytes. An empty `advertise` means that none is given.
 */
export type Options = {
  readonly [N in OptionName as N extends `${string}.${string}` ? never : N]: Value<Table[N]>
} & {
  readonly [S in Section]: {
    readonly [N in OptionName as N extends `${S}.${infer K}` ? K : never]: Value<Table[N]>
  }
}

/** `remotingPort` → `--remoting-port`. */
export function optionFlag(name: OptionName): string {
  return `--${words(name).join('-')}`
}

/** `remotingPort` → `ORRERY_REMOTING_PORT`. */
export function optionVariable(name: OptionName): string {
  return `ORRERY_${words(name).join('_').toUpperCase()}`
}

function words(name: OptionName): readonly string[] {
  return name.replace(/[A-Z]/g, letter => `.${letter.toLowerCase()}`).split('.')
}

/** The entry of one option, as the general type. */
export function optionSpec(name: OptionName): OptionSpec {
  return optionTable[name]
}
