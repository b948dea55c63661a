import type { Clock, Timers } from './clock.ts'
import type { Files } from './files.ts'
import type { KeyValueStores } from './key-values.ts'
import type { Log } from './log.ts'
import type { Network } from './network.ts'
import type { Random } from './random.ts'

/** The world as a broker sees it: real in production, simulated from one seed in tests. */
export interface Platform {
  readonly files: Files
  readonly keyValues: KeyValueStores
  readonly clock: Clock
  readonly timers: Timers
  readonly network: Network
  readonly random: Random
  readonly log: Log
}
