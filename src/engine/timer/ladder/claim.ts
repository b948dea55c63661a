/** A due message that was taken from the window. The objects are used again for every batch. */
export interface Claim {
  deliverTimeMs: number
  timerId: number
  sizeBytes: number
  block: number
  position: number
  lane: number
  /** Its bytes, once read, when they were in neither a block nor the log's memory. */
  cold: Buffer | undefined
  /** It could not be read: a copy of this waits to be tried again. */
  isAside: boolean
  /** It was removed while it was in the window: it is passed over. */
  isRemoved: boolean
}

export function emptyClaim(): Claim {
  return {
    deliverTimeMs: 0,
    timerId: 0,
    sizeBytes: 0,
    block: 0,
    position: 0,
    lane: 0,
    cold: undefined,
    isAside: false,
    isRemoved: false,
  }
}
