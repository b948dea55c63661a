import { BrokerError } from '../../base/index.ts'
import type { SeededRandom } from './seeded-random.ts'

export type FileCall =
  | 'open'
  | 'sizeOf'
  | 'list'
  | 'makeDirectory'
  | 'remove'
  | 'rename'
  | 'syncDirectory'
  | 'space'
  | 'lock'
  | 'read'
  | 'write'
  | 'truncate'
  | 'sizeBytes'
  | 'datasync'
  | 'close'
  | 'keyValueOpen'
  | 'keyValueRead'
  | 'keyValueWrite'
  | 'keyValueClose'

/** One call on the disk, as `onCall` sees it when it is made. */
export interface ObservedCall {
  readonly call: FileCall
  readonly path: string
  /** Byte place in the file, of `read` and `write`; the new size of `truncate`; otherwise 0. */
  readonly position: number
  /** Bytes to read or write, of a map those of keys and values given; otherwise 0. */
  readonly sizeBytes: number
}

/** Every kind of trouble that a world can make, none of which has happened yet. */
const NONE = {
  bitFlip: 0,
  clockStep: 0,
  connectionCut: 0,
  diskFull: 0,
  failedCall: 0,
  failedDatasync: 0,
  failedKeyValueRead: 0,
  failedKeyValueWrite: 0,
  failedRead: 0,
  failedWrite: 0,
  ignoredDatasync: 0,
  kill: 0,
  lostBatch: 0,
  lostDirectoryChange: 0,
  lostWrite: 0,
  powerCut: 0,
  reorderedWrite: 0,
  slowCall: 0,
  splitChunk: 0,
  tornWrite: 0,
}

export type FaultKind = keyof typeof NONE

export interface ProgrammedFailure {
  readonly call: FileCall
  /** Only calls on paths that match. */
  readonly path?: RegExp
  readonly error: 'STORE_FULL' | 'STORE_FAILED' | 'STORE_DAMAGED'
  /** How many calls fail; 1 when left out. */
  readonly count?: number
}

interface Rates {
  /** Probability that a call of this kind fails. */
  calls: Partial<Record<FileCall, number>>
  /** Probability that a call takes 20 ms or more. */
  slowCall: number
  /** Probability that a power cut flips one durable bit. */
  bitFlip: number
  /** Probability that a hand-over of bytes to the network cuts the connection. */
  connectionCut: number
}

/** What goes wrong in a world: by probability, or exactly where a test wants it. */
export class Faults {
  readonly rates: Rates = { calls: {}, slowCall: 0.01, bitFlip: 0, connectionCut: 0 }
  /** Sees every call on the disk when it is made, in order. */
  onCall: ((call: ObservedCall) => void) | undefined
  /** A deliberate bug: `datasync` says yes and makes nothing durable. */
  ignoreDatasync = false
  readonly #random: SeededRandom
  readonly #programmed: { readonly failure: ProgrammedFailure; left: number }[] = []
  readonly #counts: Record<FaultKind, number> = { ...NONE }

  constructor(random: SeededRandom) {
    this.#random = random
  }

  failNext(failure: ProgrammedFailure): void {
    this.#programmed.push({ failure, left: failure.count ?? 1 })
  }

  /** Nothing goes wrong by itself from now on: no rates, no programmed failures. */
  heal(): void {
    this.#programmed.length = 0
    Object.assign(this.rates, { calls: {}, slowCall: 0, bitFlip: 0, connectionCut: 0 })
  }

  /** How often each kind has happened, also those that have not. */
  counts(): Readonly<Record<FaultKind, number>> {
    return { ...this.#counts }
  }

  count(kind: FaultKind): void {
    this.#counts[kind]++
  }

  /** The error that this call is to fail with, if any. Counts it. */
  failureOf(call: FileCall, path: string): BrokerError | undefined {
    const byChance = this.#random.chance(this.rates.calls[call] ?? 0)
    const programmed = this.#programmed.find(({ failure, left }) => {
      return left > 0 && failure.call === call && (failure.path?.test(path) ?? true)
    })
    if (programmed !== undefined) programmed.left--
    else if (!byChance) return undefined
    this.count(kindOf(call))
    return new BrokerError(programmed?.failure.error ?? 'STORE_FAILED', { path, reason: 'EIO' })
  }
}

function kindOf(call: FileCall): FaultKind {
  if (call === 'read') return 'failedRead'
  if (call === 'write') return 'failedWrite'
  if (call === 'datasync') return 'failedDatasync'
  if (call === 'keyValueRead') return 'failedKeyValueRead'
  if (call === 'keyValueWrite') return 'failedKeyValueWrite'
  return 'failedCall'
}
