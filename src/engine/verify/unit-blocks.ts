/** 16 MiB together: so many queues may take turns in the log before blocks are read twice. */
const BLOCKS_MAX = 4096

/** Somebody who holds a block in memory and can read it again. */
export interface BlockHolder {
  dropBlock(): void
}

/** Bounds how many blocks are in memory: who took one first has to let it go. */
export class UnitBlocks {
  readonly #holders = new Set<BlockHolder>()

  /** `holder` has a block from now on. */
  taken(holder: BlockHolder): void {
    this.#holders.delete(holder)
    this.#holders.add(holder)
    if (this.#holders.size <= BLOCKS_MAX) return
    for (const oldest of this.#holders) {
      this.#holders.delete(oldest)
      oldest.dropBlock()
      return
    }
  }
}
