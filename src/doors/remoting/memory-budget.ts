/** What the connections of all listeners of a broker may keep in memory, in bytes. */
export interface MemoryLimits {
  /**
   * Unsent on one connection and read for its pulls: above it its pulls wait. When so much is
   * unsent, nothing more is read from it either.
   */
  readonly unsentBytesHigh: number
  /** Unsent on one connection: above it the connection is closed. */
  readonly unsentBytesMax: number
  /**
   * Unsent on all together and read for their pulls: above it all pulls wait, and nothing is read
   * from connections with unsent bytes. Above half of it, pulls of connections that have some wait:
   * what is left is for those that take what they are sent.
   */
  readonly unsentTotalBytesHigh: number
  /** Unfinished frames of all together: above it the connection that adds to them is closed. */
  readonly carriedTotalBytesMax: number
}

const MIB = 1_048_576

export const MEMORY_LIMITS: MemoryLimits = {
  unsentBytesHigh: 4 * MIB,
  unsentBytesMax: 64 * MIB,
  unsentTotalBytesHigh: 32 * MIB,
  carriedTotalBytesMax: 128 * MIB,
}

/** Adds up what all connections keep. Shared by the listeners of one broker. */
export class MemoryBudget {
  readonly limits: MemoryLimits
  unsentTotalBytes = 0
  /** What reads for pulls may bring that are under way. */
  readingTotalBytes = 0
  carriedTotalBytes = 0

  constructor(limits: MemoryLimits = MEMORY_LIMITS) {
    this.limits = limits
  }

  /** True while so much waits for clients that pulls of others have to wait for it. */
  get isShort(): boolean {
    return this.unsentTotalBytes + this.readingTotalBytes > this.limits.unsentTotalBytesHigh / 2
  }
}
