import { loadOptions, type Options } from '../../src/core/config/index.ts'
import type { SeededRandom } from '../../src/core/platform/simulated/index.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** A deliberate mistake, to see that the simulation finds it. */
export type Bug = (typeof BUGS)[number]

export const BUGS = [
  'none',
  'skip-fsync',
  'early-answer',
  'ignore-fired',
  'manifest-first',
  'mark-unsynced',
  'cancel-unchecked',
] as const

/** What one seed is played with. */
export interface Setting {
  readonly options: Options
  /** Bits go bad on the disk: what they destroy may be missing, and must be reported. */
  readonly flipsBits: boolean
  /** The budgets of window and loading are as large as what a seed sends. */
  readonly isRoomy: boolean
  /** The log of the broker is printed as it comes. */
  readonly isVerbose: boolean
  readonly bug: Bug
}

/** Sizes so small that rollover, splits, limits and early writes happen to a few hundred messages. */
export function settingOf(
  random: SeededRandom,
  given: { readonly bug: Bug; readonly isVerbose: boolean },
): Setting {
  const { options } = loadOptions({
    flags: {
      data: '/data',
      flush: random.chance(0.12) ? 'async' : 'sync',
      maxMessageSize: String(16 * KIB),
      retention: String(random.pick([60_000, 600_000, 259_200_000])),
      checkpointIntervalMs: String(random.pick([100, 400, 1500, 5000])),
      checkpointBytes: String(MIB),
      diskFreeBytesMin: String(random.pick([0, 64 * KIB, 256 * KIB])),
      messageDelayLevel: '1s 5s 10s 30s 1m 5m 30m 2h',
      'log.cacheBytes': String(MIB),
      'log.unappliedBytes': String(MIB),
    },
  })
  const smaller = { ...options, ...smallerThanTable(random, options) }
  return {
    ...given,
    flipsBits: given.bug === 'none' && random.chance(0.15),
    isRoomy: smaller.window.messagesMax > 1000 && smaller.window.bodyBytes > MIB,
    options: smaller,
  }
}

/** Below what the table of options permits: such budgets make sense for a test only. */
function smallerThanTable(random: SeededRandom, options: Options): Partial<Options> {
  return {
    log: { ...options.log, segmentBytes: random.pick([64 * KIB, 128 * KIB, MIB]) },
    checkpointBytes: random.pick([32 * KIB, 128 * KIB, MIB]),
    window: {
      messagesMax: random.pick([20, 200, 100_000]),
      bodyBytes: random.pick([16 * KIB, 128 * KIB, 8 * MIB]),
    },
    timer: {
      ...options.timer,
      loadBytes: random.pick([24 * KIB, 128 * KIB, MIB]),
      stagingBytes: random.pick([256 * KIB, MIB, 8 * MIB]),
    },
  }
}
