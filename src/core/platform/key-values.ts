/**
 * Sorted maps of bytes on disk, each in a folder of its own. Two implementations, over LevelDB and
 * simulated, pass one conformance suite.
 *
 * Keys are ordered as `Buffer.compare` does; keys and values may be empty. Every call may reject
 * with a `BrokerError`: `STORE_FULL` when no space is left, `STORE_DAMAGED` when what is on disk
 * cannot be right, `STORE_FAILED` for any other failure. Not all damage is found: a value whose
 * every bit matters carries a checksum of its own.
 */
export interface KeyValueStores {
  /**
   * Makes the folder, durably, when it is new. Nobody else may put files there; who removes all
   * files in it, while it is not open, removes the map. Rejects with `STORE_LOCKED` when it is open
   * already, here or in another process; a process that ends frees it.
   */
  open(directory: string): Promise<KeyValues>
}

export interface KeyValues {
  /** The value is the caller's own. It is at least as new as the last write that has resolved. */
  get(key: Buffer): Promise<Buffer | undefined>
  /** The same for several keys, in their order; far quicker than one by one. */
  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]>
  /**
   * Up to `countMax` entries from `from` on and before `to`, in order, as they were at one moment.
   * All of them are in memory at once: `countMax` bounds it.
   */
  range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]>
  /**
   * Makes all changes or none, in their order; writes take effect in the order of the calls. The
   * changes must not change until it settles.
   *
   * With `isDurable` they, and all that was written before, survive a power cut when it resolves
   * (also when there are no changes); without, they survive the end of the process, and a power
   * cut takes back the latest writes: never one without all that came after it.
   *
   * When one fails, whether its changes are there is known when the map is opened again; until
   * then every write rejects with the same error, and reads show the map without them.
   */
  write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void>
  /** Waits for the calls under way. Any use after it is a broken invariant. */
  close(): Promise<void>
}

export interface KeyValue {
  readonly key: Buffer
  readonly value: Buffer
}

/** `value` undefined removes the key, whether it is there or not. */
export interface KeyValueChange {
  readonly key: Buffer
  readonly value: Buffer | undefined
}
