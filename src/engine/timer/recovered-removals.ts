import { type CheckpointParticipant, ManifestFields } from '../store/index.ts'
import type { TimerRef } from './ladder/chunk-search.ts'
import type { Removal } from './timer-record.ts'

/** What the manifest says of them: of each kind timer id and deliver time, one after the other. */
interface RemovedSection {
  readonly cancelled: readonly number[]
  readonly moved: readonly number[]
}

/**
 * Removals that recovery has found in the log behind the last checkpoint, although that has the
 * messages waiting. Each is carried out after the start where the message lies, and then forgotten;
 * until then whoever meets the message asks here. Empty except for a while after a crash.
 */
export class RecoveredRemovals implements CheckpointParticipant {
  readonly name = 'removed'
  readonly #deliverTimesMs: Readonly<Record<Removal, Map<number, number>>>

  /** `section` is that of the manifest, `undefined` in a new store. Errors: STORE_DAMAGED. */
  constructor(section: unknown) {
    const { cancelled, moved } = removedSectionOf(section)
    this.#deliverTimesMs = { cancelled: mapOf(cancelled), moved: mapOf(moved) }
  }

  /** Messages that count as waiting where they lie, and do not. */
  get count(): number {
    return this.#deliverTimesMs.cancelled.size + this.#deliverTimesMs.moved.size
  }

  add(ref: TimerRef, removal: Removal): void {
    this.#deliverTimesMs[removal].set(ref.timerId, ref.deliverTimeMs)
  }

  find(timerId: number): Removal | undefined {
    if (this.#deliverTimesMs.cancelled.has(timerId)) return 'cancelled'
    return this.#deliverTimesMs.moved.has(timerId) ? 'moved' : undefined
  }

  /** As `find`, once: the message was met, and will not be met again. */
  take(timerId: number): Removal | undefined {
    if (this.#deliverTimesMs.cancelled.delete(timerId)) return 'cancelled'
    return this.#deliverTimesMs.moved.delete(timerId) ? 'moved' : undefined
  }

  /** All that are known now. */
  refs(): TimerRef[] {
    const { cancelled, moved } = this.#deliverTimesMs
    return Array.from([...cancelled, ...moved], ([timerId, deliverTimeMs]) => {
      return { timerId, deliverTimeMs }
    })
  }

  snapshot(): RemovedSection {
    const { cancelled, moved } = this.#deliverTimesMs
    return { cancelled: [...cancelled].flat(), moved: [...moved].flat() }
  }
}

/** The section as it was read; `undefined` is that of a new store. Errors: STORE_DAMAGED. */
export function removedSectionOf(section: unknown): RemovedSection {
  if (section === undefined) return { cancelled: [], moved: [] }
  const fields = new ManifestFields(section, 'sections.removed')
  return { cancelled: fields.counts('cancelled'), moved: fields.counts('moved') }
}

function mapOf(pairs: readonly number[]): Map<number, number> {
  const map = new Map<number, number>()
  for (let index = 0; index < pairs.length; index += 2) {
    map.set(pairs[index] ?? 0, pairs[index + 1] ?? 0)
  }
  return map
}
