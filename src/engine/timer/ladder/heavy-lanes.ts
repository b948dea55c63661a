import type { Chunk } from '../chunk.ts'
import { nextHeader } from '../chunk-reader.ts'
import { checkTimerRecord, TIMER_HEADER_BYTES, timerRecordStart } from '../timer-record.ts'
import { LANE_UNKNOWN, laneOf } from './lane.ts'
import type { Partition } from './partition.ts'

/** Enough samples that who has an eighth of the bytes is found. */
const SAMPLE_COUNT = 32
const SAMPLE_BYTES = 16 * 1024
/** Where a sample has no whole message, they are large: a larger one. */
const LARGE_SAMPLE_BYTES = 256 * 1024
/** Part of a partition's bytes that makes a lane heavy. */
const HEAVY_SHARE = 1 / 8

/**
 * The lanes that have a large part of what waits in a partition, by samples: what else is in it
 * should not have to wait until all of theirs is loaded.
 */
export async function heavyLanes(partition: Partition): Promise<ReadonlySet<number>> {
  const shares = new LaneShares()
  for (const { chunk, position } of samplesOf(partition)) await shares.sample(chunk, position)
  return shares.atLeast(HEAVY_SHARE)
}

/** The lane that has most of what is untaken of a chunk, by one sample of it. */
export async function mainLane(chunk: Chunk): Promise<number> {
  const shares = new LaneShares()
  await shares.sample(chunk, chunk.takenBytes)
  return shares.largest()
}

class LaneShares {
  readonly #bytes = new Map<number, number>()
  #sumBytes = 0

  async sample(chunk: Chunk, position: number): Promise<void> {
    const knownBytes = this.#sumBytes
    await this.#read(chunk, position, SAMPLE_BYTES)
    if (this.#sumBytes === knownBytes) await this.#read(chunk, position, LARGE_SAMPLE_BYTES)
  }

  async #read(chunk: Chunk, position: number, bytesMax: number): Promise<void> {
    const sample = Buffer.allocUnsafe(Math.min(bytesMax, chunk.sizeBytes - position))
    await chunk.file.read(sample, position)
    forEachRecord(sample, (at, size) => {
      if (size === TIMER_HEADER_BYTES) return
      const lane = laneOf(sample, timerRecordStart(at))
      this.#bytes.set(lane, (this.#bytes.get(lane) ?? 0) + size)
      this.#sumBytes += size
    })
  }

  atLeast(share: number): Set<number> {
    const lanes = new Set<number>()
    for (const [lane, bytes] of this.#bytes) if (bytes >= this.#sumBytes * share) lanes.add(lane)
    return lanes
  }

  largest(): number {
    let largest = LANE_UNKNOWN
    let most = 0
    for (const [lane, bytes] of this.#bytes) {
      if (bytes <= most) continue
      most = bytes
      largest = lane
    }
    return largest
  }
}

interface Sample {
  readonly chunk: Chunk
  readonly position: number
}

/** Places at equal distances in what is untaken of the chunks, one behind the other. */
function samplesOf(partition: Partition): Sample[] {
  const stepBytes = Math.max(SAMPLE_BYTES, partition.untakenBytes / SAMPLE_COUNT)
  const samples: Sample[] = []
  let next = 0
  for (const chunk of partition.chunks) {
    for (; next < chunk.untakenBytes; next += stepBytes) {
      samples.push({ chunk, position: chunk.takenBytes + Math.floor(next) })
    }
    next -= chunk.untakenBytes
  }
  return samples
}

/** What a sample cuts at its ends is left out, and so is what is damaged. */
function forEachRecord(sample: Buffer, visit: (position: number, size: number) => void): void {
  let position = 0
  while (position < sample.length) {
    const check = checkTimerRecord(sample, position, sample.length)
    if (check.kind === 'record') {
      visit(position, check.size)
      position += check.size
    } else {
      position = nextHeader(sample, position + 1, true)
    }
  }
}
