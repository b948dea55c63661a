import type { ConsumeQueue } from './consume-queue.ts'
import type { ManifestFields } from './manifest-fields.ts'

/**
 * What the files of all queues hold together, at the moment of a checkpoint. A start that finds
 * less knows that some are missing, however many queues there are.
 */
export interface QueueTotals {
  /** Queues that have units. */
  readonly queueCount: number
  /** Of all queues, the number of the next message. */
  readonly unitCount: number
  /** Of all queues, the number with which the first file begins. */
  readonly firstUnitCount: number
  /** First offset of the log that the queues knew of: older files of theirs were removed. */
  readonly logMinOffset: number
}

/** What the queues hold now, in files and memory. */
export function totalsOf(queues: Iterable<ConsumeQueue>, logMinOffset: number): QueueTotals {
  let queueCount = 0
  let unitCount = 0
  let firstUnitCount = 0
  for (const queue of queues) {
    if (queue.maxOffset === 0) continue
    queueCount++
    unitCount += queue.maxOffset
    firstUnitCount += queue.firstFileOffset
  }
  return { queueCount, unitCount, firstUnitCount, logMinOffset }
}

/** Whether files of queues are missing, or what was in them, that the last checkpoint knew of. */
export function lacks(found: QueueTotals, known: QueueTotals): boolean {
  if (found.queueCount < known.queueCount || found.unitCount < known.unitCount) return true
  // Where the log begins later, the queues may have given back files without a checkpoint.
  const isComparable = found.logMinOffset === known.logMinOffset
  return isComparable && found.firstUnitCount > known.firstUnitCount
}

/** As a manifest holds it. Errors: STORE_DAMAGED. */
export function queueTotalsOf(fields: ManifestFields): QueueTotals {
  return {
    queueCount: fields.count('queueCount'),
    unitCount: fields.count('unitCount'),
    firstUnitCount: fields.count('firstUnitCount'),
    logMinOffset: fields.count('logMinOffset'),
  }
}
