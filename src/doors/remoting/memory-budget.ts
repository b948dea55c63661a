/** What the connections of all listeners of a broker may keep in memory, in bytes. */
export interface MemoryLimits {
  /** Unsent on one connection: above it nothing more is read from it, and its pulls wait. */
  readonly unsentBytesHigh: number
  /** Unsent on one connection: above it the connection is closed. */
  readonly unsentBytesMax: number
  /** Unsent on all together: above it every connection with unsent bytes counts as high. */
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
  carriedTotalBytes = 0

  constructor(limits: MemoryLimits = MEMORY_LIMITS) {
    this.limits = limits
  }
}
