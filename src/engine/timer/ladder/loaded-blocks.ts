import { assert } from '../../../core/base/index.ts'
import type { LoadedPart } from '../chunk.ts'

interface LoadedBlock {
  readonly bytes: Buffer | undefined
  readonly part: LoadedPart
}

/** Parts of chunks whose messages are in the window, each until the last of them is done with. */
export class LoadedBlocks {
  readonly #blocks = new Map<number, LoadedBlock>()
  #nextNumber = 1
  #bytes = 0

  /** Of the block that is added next; they ascend. */
  get nextNumber(): number {
    return this.#nextNumber
  }

  /** Memory in use. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Takes in a part of a chunk with its bytes, and `undefined` for a part that is read from the
   * log, since it was copied from there while it was in the window. Returns its number, which
   * holds until the last of its messages is released.
   */
  add(part: LoadedPart, bytes: Buffer | undefined): number {
    const number = this.#nextNumber++
    this.#blocks.set(number, { bytes, part })
    part.blockBytes = bytes?.length ?? 0
    this.#bytes += part.blockBytes
    return number
  }

  has(number: number): boolean {
    return this.#blocks.has(number)
  }

  bytesOf(number: number): Buffer {
    const { bytes } = this.#get(number)
    assert(bytes !== undefined, 'the block has its bytes in memory')
    return bytes
  }

  /** One message of the block is done with; returns the part of the chunk it belonged to. */
  release(number: number): LoadedPart {
    const { part } = this.#get(number)
    part.liveCount--
    if (part.liveCount === 0) {
      this.#bytes -= part.blockBytes
      this.#blocks.delete(number)
    }
    return part
  }

  #get(number: number): LoadedBlock {
    const block = this.#blocks.get(number)
    assert(block !== undefined, 'the block is in memory')
    return block
  }
}
