import {
  BrokerError,
  crc32,
  readInt32,
  readInt64Loose,
  writeInt32,
  writeInt64,
} from '../../core/base/index.ts'
import type { KeyValueChange } from '../../core/platform/index.ts'
import type { CheckpointParticipant } from '../store/index.ts'
import type { TimerRef } from './ladder/chunk-search.ts'
import type { TimerMap } from './timer-map.ts'

const ID_BYTES = 8
const AT_CRC = 2 * ID_BYTES
const VALUE_BYTES = AT_CRC + 4
/** Entries of the first kind lead from an id to its place, those of the second are in due order. */
const BY_ID = 1
const BY_TIME = 2
/** A message that is parked for longer than this is not found by its first id any more. */
const KEPT_MS = 30 * 86_400_000
const SWEEP_COUNT_MAX = 1_000

/**
 * Where messages are that were moved to another deliver time: a move stores the message anew, under
 * another timer id, and its first id, which its sender knows, leads here to the latest one. On
 * disk; memory holds what the last checkpoint does not have yet. See docs/formats/moved-index.md.
 */
export class MovedIndex implements CheckpointParticipant {
  readonly name = 'movedIndex'
  readonly #map: TimerMap
  readonly #firedMs: () => number
  /** Not on disk yet. */
  #staged = new Map<number, TimerRef>()
  #writing = new Map<number, TimerRef>()

  constructor(parts: {
    map: TimerMap
    /** The fire position. */
    firedMs: () => number
  }) {
    this.#map = parts.map
    this.#firedMs = parts.firedMs
  }

  /** A message, known by its first timer id, is at `ref` from now on. */
  set(firstTimerId: number, ref: TimerRef): void {
    this.#staged.set(firstTimerId, ref)
  }

  /** Undefined when the message was never moved, or is long gone. */
  async find(firstTimerId: number): Promise<TimerRef | undefined> {
    const inMemory = this.#staged.get(firstTimerId) ?? this.#writing.get(firstTimerId)
    if (inMemory !== undefined) return inMemory
    const value = await this.#map.get(keyOf(firstTimerId))
    // It may have been moved, for the first time or again, while the disk was read.
    const meanwhile = this.#staged.get(firstTimerId) ?? this.#writing.get(firstTimerId)
    if (meanwhile !== undefined) return meanwhile
    return value === undefined ? undefined : refOf(value)
  }

  /** The index on disk may be ahead of the manifest: what recovery applies again is in it already. */
  snapshot(): boolean {
    for (const [timerId, ref] of this.#staged) this.#writing.set(timerId, ref)
    this.#staged = new Map()
    return true
  }

  async write(): Promise<void> {
    if (this.#writing.size > 0) {
      const changes = Array.from(this.#writing, ([timerId, ref]) => changesOf(timerId, ref)).flat()
      await this.#map.write(changes, true)
      this.#writing = new Map()
    }
    if (this.#map.exists) await this.#sweep()
  }

  close(): Promise<void> {
    return this.#map.close()
  }

  /** Forgets messages that were delivered long ago. */
  async #sweep(): Promise<void> {
    const from = timeKeyOf(0, 0)
    const to = timeKeyOf(Math.max(0, this.#firedMs() - KEPT_MS), 0)
    const over = await this.#map.range(from, to, SWEEP_COUNT_MAX)
    if (over.length === 0) return
    const changes: KeyValueChange[] = []
    for (const { key } of over) {
      const deliverTimeMs = readInt64Loose(key, 1)
      const timerId = readInt64Loose(key, 1 + ID_BYTES)
      changes.push({ key, value: undefined })
      // Moved again since: another entry stands for it.
      const value = await this.#map.get(keyOf(timerId))
      const isLatest = value !== undefined && refOf(value).deliverTimeMs === deliverTimeMs
      if (isLatest) changes.push({ key: keyOf(timerId), value: undefined })
    }
    await this.#map.write(changes, false)
  }
}

function changesOf(firstTimerId: number, ref: TimerRef): KeyValueChange[] {
  const value = Buffer.alloc(VALUE_BYTES)
  writeInt64(value, ref.timerId, 0)
  writeInt64(value, ref.deliverTimeMs, ID_BYTES)
  writeInt32(value, crcOf(value), AT_CRC)
  return [
    { key: keyOf(firstTimerId), value },
    { key: timeKeyOf(ref.deliverTimeMs, firstTimerId), value: Buffer.alloc(0) },
  ]
}

/** Errors: MESSAGE_UNREADABLE. */
function refOf(value: Buffer): TimerRef {
  const isWhole = value.length === VALUE_BYTES && readInt32(value, AT_CRC) === crcOf(value)
  if (!isWhole) throw new BrokerError('MESSAGE_UNREADABLE', { in: 'the index of moved messages' })
  return { timerId: readInt64Loose(value, 0), deliverTimeMs: readInt64Loose(value, ID_BYTES) }
}

function crcOf(value: Buffer): number {
  return crc32(value, 0, AT_CRC) | 0
}

function keyOf(timerId: number): Buffer {
  const key = Buffer.alloc(1 + ID_BYTES)
  key[0] = BY_ID
  writeInt64(key, timerId, 1)
  return key
}

function timeKeyOf(deliverTimeMs: number, timerId: number): Buffer {
  const key = Buffer.alloc(1 + 2 * ID_BYTES)
  key[0] = BY_TIME
  writeInt64(key, deliverTimeMs, 1)
  writeInt64(key, timerId, 1 + ID_BYTES)
  return key
}
