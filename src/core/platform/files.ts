/**
 * The disk. Two implementations, `RealFiles` and `SimulatedFiles`, pass one conformance suite.
 *
 * Paths use `/`. Every call may reject with a `BrokerError`: `STORE_FULL` when no space is left,
 * `STORE_NOT_ACCESSIBLE` when the path or its rights are wrong, `STORE_FAILED` for any other
 * failure, with the path and the system's word in the details.
 */
export interface Files {
  /**
   * Opens a file. `'write'` makes it when it is missing (reading stays possible); `'read'` fails
   * with `STORE_FAILED` then. A new file's name is durable only after `syncDirectory`.
   */
  open(path: string, mode: 'read' | 'write'): Promise<File>
  /** Size in bytes, or `undefined` when there is no such file. */
  sizeOf(path: string): Promise<number | undefined>
  /** Names in a directory, sorted by code unit; empty when there is no such directory. */
  list(directory: string): Promise<readonly string[]>
  /**
   * Makes the directory and those above it; does nothing when it exists. A new name is durable
   * only after `syncDirectory` of the directory that holds it.
   */
  makeDirectory(path: string): Promise<void>
  /**
   * Removes a file or an empty directory; does nothing when it is missing. Durable after
   * `syncDirectory` of the directory that held it.
   */
  remove(path: string): Promise<void>
  /** Replaces `to` when it exists. Durable after `syncDirectory` of the directory. */
  rename(from: string, to: string): Promise<void>
  syncDirectory(path: string): Promise<void>
  /** Space of the file system that holds `path`, in bytes. */
  space(path: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
  /**
   * Takes the one lock of a directory for this process; the system frees it when the process ends.
   * Rejects with `STORE_LOCKED` when another process (or an earlier call) holds it.
   */
  lock(directory: string): Promise<DirectoryLock>
}

export interface DirectoryLock {
  release(): Promise<void>
}

export interface File {
  readonly path: string
  /** Fills `target` from `position`; resolves to the bytes read, fewer only at the file's end. */
  read(target: Uint8Array, position: number): Promise<number>
  /** Writes all parts one after the other at `position`. The parts must not change meanwhile. */
  write(parts: readonly Uint8Array[], position: number): Promise<void>
  /** As `write`, and durable when it resolves: on Linux one call on the system instead of two. */
  writeDurably(parts: readonly Uint8Array[], position: number): Promise<void>
  /** Cuts or extends (with zeros, sparse) to `sizeBytes`. */
  truncate(sizeBytes: number): Promise<void>
  sizeBytes(): Promise<number>
  /**
   * `fdatasync`: content and size, as they were at the call, are durable when it resolves. When
   * it rejects, unsynced writes may be lost although a later call resolves.
   */
  datasync(): Promise<void>
  /** No other call may be under way. Any use after it is a broken invariant. */
  close(): Promise<void>
}
