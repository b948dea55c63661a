/** The one door to the outside: files, key-value maps, clock, timers, network, randomness, log. */
export type { Clock, Timer, Timers } from './clock.ts'
export { makeDurableDirectory } from './durable-directory.ts'
export type { DirectoryLock, File, Files } from './files.ts'
export type { KeyValue, KeyValueChange, KeyValues, KeyValueStores } from './key-values.ts'
export type { Log, LogFields } from './log.ts'
export type {
  ConnectAddress,
  Connection,
  ConnectionHandler,
  ListenAddress,
  Listener,
  Network,
} from './network.ts'
export { othersTurn, pause } from './pauses.ts'
export type { Platform } from './platform.ts'
export type { Random } from './random.ts'
export { realPlatform, type RealPlatformOptions } from './real/real-platform.ts'
export type { LogLevel } from './real/real-log.ts'
export { readWholeFile, replaceFile } from './replace-file.ts'
