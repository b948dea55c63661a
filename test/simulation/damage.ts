import type { FlippedBit } from '../../src/core/platform/simulated/index.ts'
import { readWholeFile } from '../../src/core/platform/index.ts'
import {
  checkRecord,
  recordProperties,
  recordReconsumeTimes,
  recordSize,
} from '../../src/model/message/index.ts'
import { idOf } from './ledger.ts'
import type { Simulation } from './simulation.ts'

/** Files whose damage must be noticed. */
const COVERED =
  /\/(commitlog|consumequeue\/[^/]+\/\d+|orrery\/ladder\/[^/]+|orrery\/parked|orrery)\/\d[^/]*$|\/orrery\/manifest-[ab]$/
/** Of a message in a consume queue. */
const UNIT_BYTES = 20
/** In front of the accept record, in a file of the timers. */
const TIMER_HEADER_BYTES = 56

/**
 * Flips one bit on the disk while the broker is down, and notes which message that destroys: only
 * that one may be missing afterwards.
 */
export async function flipBit(simulation: Simulation): Promise<void> {
  const { world } = simulation
  const flipped = world.disk.flipRandomBit(COVERED)
  if (flipped === undefined) return
  const id = await damagedId(simulation, flipped)
  simulation.totals.add(id === undefined ? 'flip in no message' : 'flip in a message')
  simulation.trace(`flip in ${flipped.path} at ${flipped.position}, of ${id ?? 'no message'}`)
  const send = id === undefined ? undefined : simulation.ledger.sends.get(id)
  if (send !== undefined) send.isDamaged = true
}

async function damagedId(
  { world, ledger }: Simulation,
  { path, position, bit }: FlippedBit,
): Promise<string | undefined> {
  const bytes = await world.finish(readWholeFile(world.outside.files, path))
  if (bytes === undefined) return undefined
  // As it was before.
  bytes[position] = (bytes[position] ?? 0) ^ (1 << bit)
  if (path.includes('/consumequeue/')) {
    const unit = position - (position % UNIT_BYTES)
    const logOffset = Number(bytes.readBigInt64BE(unit))
    for (const send of ledger.sends.values()) {
      if (send.acceptOffset === logOffset || send.place?.commitLogOffset === logOffset)
        return send.id
    }
    return undefined
  }
  const headerBytes = path.includes('/commitlog/') ? 0 : TIMER_HEADER_BYTES
  // What begins before the place and reaches over it.
  for (let at = position + headerBytes; at >= 0; at--) {
    if (checkRecord(bytes, at, bytes.length).kind !== 'record') continue
    if (at + recordSize(bytes, at) <= position) return undefined
    return idOf(recordProperties(bytes, at), recordReconsumeTimes(bytes, at))
  }
  return undefined
}
