import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { CrashingBroker } from './broker.ts'
import { FolderEvidence } from './folder-evidence.ts'
import type { Load, Waiting } from './load.ts'
import type { LogTail } from './log-tail.ts'
import type { Moment } from './moments.ts'
import type { SeededRandom } from './seeded-random.ts'

const LOAD_MS_MIN = 200
const LOAD_MS_MAX = 1500
/** A moment that has not come by then does not come. */
const WATCH_MS = 6000
const SMALL_FILL_BYTES = 100
const LARGE_FILL_BYTES = 8000
/** More than half of the load budget: both the minute, unless it is already, and the second are split. */
const SPLIT_COUNT = 150
const HERD_COUNT = 3000
/** Longer than a herd takes to be sent. */
const HERD_AHEAD_MS = 2500
const STORM_COUNT = 600

/** One life of a broker, at the end of which it is killed. */
export interface Attack {
  readonly broker: CrashingBroker
  readonly load: Load
  readonly random: SeededRandom
  readonly tail: LogTail
}

type LoadedMoment = Exclude<Moment, 'recovery'>

/** Checkpoints are frequent where they are waited for, rare where recovery is to have much to do. */
export const CHECKPOINT_INTERVALS_MS: Readonly<Record<LoadedMoment, number>> = {
  load: 5000,
  split: 400,
  checkpoint: 400,
  herd: 2000,
  cancels: 1000,
}

/** Brings the broker into the moment and kills it there; whether what is left shows that it was. */
export const attacks: Readonly<Record<LoadedMoment, (attack: Attack) => Promise<boolean>>> = {
  load: killUnderLoad,
  split: killInSplit,
  checkpoint: killInCheckpoint,
  herd: killInHerd,
  cancels: killInCancels,
}

/** Any moment. */
async function killUnderLoad({ broker, random }: Attack): Promise<boolean> {
  await sleep(random.between(LOAD_MS_MIN, LOAD_MS_MAX))
  await broker.kill()
  return true
}

/**
 * When files of the finest rungs appear: their messages are still being moved. Seconds tell less,
 * as new messages go there too where a minute was split before.
 */
async function killInSplit({ broker, load, random }: Attack): Promise<boolean> {
  const finer = ['20ms', '1ms'].map(rung => join('orrery/ladder', rung))
  const seen = strikeAtChange(broker, finer, random.between(1, 10))
  // Due in one second, which no direct delivery covers and no other burst shares.
  const secondMs = Math.ceil((Date.now() + random.between(2000, 4000)) / 1000) * 1000
  await load.burst(SPLIT_COUNT, choice => {
    return { dueMs: secondMs + choice.between(0, 999), fillBytes: LARGE_FILL_BYTES }
  })
  await seen
  await broker.kill()
  return new FolderEvidence(broker.dataDirectory).isInSplit
}

/** When a checkpoint writes files of waiting messages, or the manifest. */
async function killInCheckpoint({ broker, load, random }: Attack): Promise<boolean> {
  await load.burst(random.between(50, 300), choice => {
    return { dueMs: Date.now() + choice.between(2000, 8000), fillBytes: SMALL_FILL_BYTES }
  })
  const places = random.pick([['orrery/ladder/1min', 'orrery/ladder/1s'], ['orrery']] as const)
  await strikeAtChange(broker, places, random.between(1, 4))
  await broker.kill()
  return new FolderEvidence(broker.dataDirectory).isInCheckpoint
}

/** Many messages are due in one millisecond: some are in their topic, and some are not. */
async function killInHerd({ broker, load, random, tail }: Attack): Promise<boolean> {
  const dueMs = Date.now() + HERD_AHEAD_MS
  const herd = await load.burst(HERD_COUNT, () => ({ dueMs, fillBytes: SMALL_FILL_BYTES }))
  // The log is written when it begins, and not at once for the whole herd.
  await strikeAtChange(broker, ['commitlog'], random.between(1, 3), dueMs)
  await broker.kill()
  const published = new Set(tail.readPublished())
  const count = herd.filter(({ entry }) => published.has(entry.id)).length
  return count > 0 && count < herd.length
}

/** Cancels and moves are under way: some are answered, and for some nobody knows. */
async function killInCancels({ broker, load, random }: Attack): Promise<boolean> {
  const waiting: readonly Waiting[] = await load.burst(STORM_COUNT, choice => {
    return { dueMs: Date.now() + choice.between(500, 6000), fillBytes: SMALL_FILL_BYTES }
  })
  const open = await load.storm(waiting, {
    answeredCount: random.between(1, waiting.length / 2),
    kill: () => broker.strike(),
  })
  await broker.kill()
  return open > 0
}

/** Kills at the `changeNumber`th change in the directories from a time on, or when none comes. */
async function strikeAtChange(
  broker: CrashingBroker,
  directories: readonly string[],
  changeNumber: number,
  fromMs = 0,
): Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  let rest = changeNumber
  for (const directory of directories) {
    watch(join(broker.dataDirectory, directory), { signal }, () => {
      if (Date.now() < fromMs || --rest > 0) return
      broker.strike()
      stop.abort()
    })
  }
  await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined)
  stop.abort()
}
