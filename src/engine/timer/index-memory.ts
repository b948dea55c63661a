/** Between two places of a chunk's index, as long as there are not too many of them in all. */
const NEAR_BYTES = 8 * 1024
const FAR_BYTES = 64 * 1024
/** Twelve bytes each, and as much again while arrays have grown and are not full. */
const NEAR_COUNT_MAX = 512 * 1024

/**
 * How close together the indexes of all chunks note places: close while they are few, so that a
 * message is found with little reading; further apart when much waits, so that their memory stays
 * small.
 */
export class IndexMemory {
  #placeCount = 0

  /** Least distance between two places. */
  get stretchBytes(): number {
    return this.#placeCount < NEAR_COUNT_MAX ? NEAR_BYTES : FAR_BYTES
  }

  countPlaces(count: number): void {
    this.#placeCount += count
  }
}
