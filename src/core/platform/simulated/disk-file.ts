import type { Faults } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import { SparseContent } from './sparse-content.ts'

/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512

type Change =
  | { readonly kind: 'write'; readonly bytes: Uint8Array; readonly position: number }
  | { readonly kind: 'truncate'; readonly sizeBytes: number }

/** A file as the page cache shows it, as the medium holds it, and what lies between the two. */
export class DiskFile {
  #current = new SparseContent()
  #durable = new SparseContent()
  #unsynced: Change[] = []
  #syncedCount = 0

  get current(): SparseContent {
    return this.#current
  }

  /** Number of changes made up to now; what `sync` takes. */
  get changeCount(): number {
    return this.#syncedCount + this.#unsynced.length
  }

  /** `bytes` must not change any more. */
  write(bytes: Uint8Array, position: number): void {
    this.#current.write(bytes, position)
    this.#unsynced.push({ kind: 'write', bytes, position })
  }

  truncate(sizeBytes: number): void {
    this.#current.truncate(sizeBytes)
    this.#unsynced.push({ kind: 'truncate', sizeBytes })
  }

  /** Makes the first `changeCount` changes durable, in order. */
  sync(changeCount: number): void {
    for (const change of this.#takeUnsynced(changeCount)) apply(this.#durable, change)
  }

  /**
   * A sync that failed: the system takes the pages for clean, so that no later sync writes them;
   * some have reached the medium.
   */
  failSync(changeCount: number, random: SeededRandom): void {
    for (const change of this.#takeUnsynced(changeCount)) {
      if (random.chance(0.5)) apply(this.#durable, change)
    }
  }

  /**
   * Only the medium is left: each unsynced change is kept, torn at sectors or lost. A later
   * change may be kept where an earlier one is lost: the system writes in any order.
   */
  cutPower(random: SeededRandom, faults: Faults): void {
    const keepRate = random.pick([0, 0.2, 0.5, 0.9, 1])
    let anyLost = false
    for (const change of this.#takeUnsynced(this.changeCount)) {
      if (random.chance(keepRate)) {
        apply(this.#durable, change)
        if (anyLost) faults.count('reorderedWrite')
        continue
      }
      if (change.kind === 'write' && random.chance(0.4)) {
        faults.count('tornWrite')
        tear(this.#durable, change, random)
      } else {
        faults.count('lostWrite')
        if (change.kind === 'write' && random.chance(0.2)) extendOnly(this.#durable, change)
      }
      anyLost = true
    }
    this.#current = this.#durable.copy()
  }

  /** Flips a bit on the medium, and in the page cache as if it had been read again. */
  flipBit(position: number, bit: number): void {
    this.#current.flipBit(position, bit)
    if (position < this.#durable.sizeBytes) this.#durable.flipBit(position, bit)
  }

  #takeUnsynced(changeCount: number): readonly Change[] {
    const count = Math.max(0, changeCount - this.#syncedCount)
    const taken = this.#unsynced.splice(0, count)
    this.#syncedCount += taken.length
    return taken
  }
}

function apply(content: SparseContent, change: Change): void {
  if (change.kind === 'write') content.write(change.bytes, change.position)
  else content.truncate(change.sizeBytes)
}

/** The size has reached the medium and the bytes have not. */
function extendOnly(content: SparseContent, change: Change & { kind: 'write' }): void {
  const endPosition = change.position + change.bytes.length
  if (endPosition > content.sizeBytes) content.truncate(endPosition)
}

function tear(
  content: SparseContent,
  change: Change & { kind: 'write' },
  random: SeededRandom,
): void {
  const { bytes, position } = change
  const shape = random.pick(['start', 'end', 'scattered'])
  const cut = random.below(bytes.length + 1)
  for (let done = 0; done < bytes.length;) {
    const inSector = (position + done) % SECTOR_BYTES
    const length = Math.min(SECTOR_BYTES - inSector, bytes.length - done)
    const scattered = random.chance(0.5)
    const kept = shape === 'scattered' ? scattered : done < cut === (shape === 'start')
    if (kept) content.write(bytes.subarray(done, done + length), position + done)
    done += length
  }
  if (random.chance(0.5)) extendOnly(content, change)
}
