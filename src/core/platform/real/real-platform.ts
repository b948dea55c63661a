import type { Platform } from '../platform.ts'
import { RealFiles } from './real-files.ts'
import { RealKeyValueStores } from './real-key-values.ts'
import { type LogLevel, RealLog } from './real-log.ts'
import { RealNetwork } from './real-network.ts'
import { RealRandom } from './real-random.ts'
import { RealClock, RealTimers } from './real-time.ts'

export interface RealPlatformOptions {
  readonly logLevel: LogLevel
}

/** The world of a process in production. */
export function realPlatform(options: RealPlatformOptions): Platform {
  const clock = new RealClock()
  const log = new RealLog(options.logLevel)
  const files = new RealFiles()
  return {
    files,
    keyValues: new RealKeyValueStores(files),
    clock,
    timers: new RealTimers(clock),
    network: new RealNetwork(log),
    random: new RealRandom(),
    log,
  }
}
