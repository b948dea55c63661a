/** What a store needs to know. All sizes in bytes, all times in milliseconds. */
export interface StoreOptions {
  /** The data folder, in Apache RocketMQ's layout, with our own files under `orrery/`. */
  readonly directory: string
  /** Length of one commit log segment; a multiple of 4096. Apache refuses any other length. */
  readonly segmentBytes: number
  /** Newest part of the log that is kept in memory: write buffer and read cache in one. */
  readonly cacheBytes: number
  /** More than this not yet applied: `congested`. `STORE_BUSY` comes when `cacheBytes` are. */
  readonly unappliedBytesMax: number
  /** Largest record of a new message: body, properties and what the broker adds. */
  readonly recordBytesMax: number
  /** `sync`: `fdatasync` before anything is visible or answered. `async`: within 500 ms. */
  readonly flush: 'sync' | 'async'
  /** Less than this left on the disk: new messages are refused with `STORE_FULL`. */
  readonly diskFreeBytesMin: number
  /** Segments whose newest message is older are removed, unless something there still waits. */
  readonly retentionMs: number
  readonly checkpointIntervalMs: number
  /** A checkpoint also comes after this much log. */
  readonly checkpointBytes: number
}
