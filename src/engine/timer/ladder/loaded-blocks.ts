import { assert } from '../../../core/base/index.ts'

interface LoadedBlock {
  readonly bytes: Buffer
  /** Messages in it that have not fired. */
  liveCount: number
}

/** Parts of chunks in memory, each until the last of its messages has fired. */
export class LoadedBlocks {
  readonly #blocks = new Map<number, LoadedBlock>()
  #nextNumber = 1
  #bytes = 0

  /** Memory in use. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes in a block; `retain` each message, then `settle`. */
  add(bytes: Buffer): number {
    const number = this.#nextNumber++
    this.#blocks.set(number, { bytes, liveCount: 0 })
    this.#bytes += bytes.length
    return number
  }

  retain(number: number): void {
    this.#get(number).liveCount++
  }

  /** All messages of the block are known: it goes at once when there is none. */
  settle(number: number): void {
    if (this.#get(number).liveCount === 0) this.#drop(number)
  }

  bytesOf(number: number): Buffer {
    return this.#get(number).bytes
  }

  /** One message of the block is done with. */
  release(number: number): void {
    const block = this.#get(number)
    block.liveCount--
    if (block.liveCount === 0) this.#drop(number)
  }

  #drop(number: number): void {
    this.#bytes -= this.#get(number).bytes.length
    this.#blocks.delete(number)
  }

  #get(number: number): LoadedBlock {
    const block = this.#blocks.get(number)
    assert(block !== undefined, 'the block is in memory')
    return block
  }
}
