import { assert } from '../../core/base/index.ts'

const BLOCK_BYTES = 65_536

/**
 * Room for small answers, shared by all connections of a door: filled from front to back and never
 * written twice, so that what a socket still holds does not change. A block lives as long as any
 * part of it is held.
 */
export class AnswerArena {
  block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  /** Where the next answer goes in `block`. */
  position = 0

  /** Sees to it that `sizeBytes`, at most 65,536, fit behind `position`. */
  reserve(sizeBytes: number): void {
    if (this.position + sizeBytes <= BLOCK_BYTES) return
    assert(sizeBytes <= BLOCK_BYTES, 'an answer in the arena must fit into a block')
    this.block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    this.position = 0
  }
}
