import type { FlippedBit } from '../../src/core/platform/simulated/index.ts'
import { readWholeFile } from '../../src/core/platform/index.ts'
import {
  checkRecord,
  findProperty,
  PROPERTY,
  recordProperties,
  recordReconsumeTimes,
  recordSize,
} from '../../src/model/message/index.ts'
import { idOf } from './ledger.ts'
import { damagedWithKey } from './key-requests.ts'
import type { Simulation } from './simulation.ts'

/**
 * Files whose damage must cost no more than a message. Not the queues of the delay levels: their
 * units hold the deliver times, in Apache's layout, which has no checksum for them.
 */
const COVERED =
  /\/(commitlog|consumequeue\/(?!SCHEDULE)[^/]+\/\d+|orrery\/ladder\/[^/]+|orrery\/parked)\/\d[^/]*$/
const MANIFEST = /\/orrery\/manifest-[ab]$/
/** One file of so many that have gone bad is a manifest. */
const MANIFEST_RATE = 0.1
/** Of a message in a consume queue. */
const UNIT_BYTES = 20
const UNIT_SIZE_AT = 8
/** In front of the accept record, in a file of the timers. */
const TIMER_HEADER_BYTES = 56

/**
 * Flips one bit on the disk while the broker is down, and notes which message that destroys: only
 * that one may be missing afterwards.
 */
export async function flipBit(simulation: Simulation): Promise<void> {
  const { world, random, hasLostPower } = simulation
  // After a power cut the other copy may be torn: both are more than a broker can stand.
  const isManifest = random.chance(MANIFEST_RATE) && !hasLostPower
  const flipped = world.disk.flipRandomBit(isManifest ? MANIFEST : COVERED)
  if (flipped === undefined) return
  const id = await damagedId(simulation, flipped)
  simulation.totals.add(id === undefined ? 'flip in no message' : 'flip in a message')
  simulation.trace(`flip in ${flipped.path} at ${flipped.position}, of ${id ?? 'no message'}`)
  const send = id === undefined ? undefined : simulation.ledger.sends.get(id)
  if (send !== undefined) send.isDamaged = true
}

/**
 * Flips one bit of a value in an index of waiting messages while the broker is down. It costs no
 * message: what asks for it may be refused until the index is made again.
 */
export async function flipBitInIndex({
  world,
  random,
  setting,
  totals,
}: Simulation): Promise<void> {
  const directory = `${setting.options.data}/orrery/${random.pick(['moved', 'keys'])}`
  const names = await world.finish(world.outside.files.list(directory))
  if (names.length === 0) return
  const { disk } = world
  const { capacityBytes } = disk
  // A bit goes bad also on a full disk.
  disk.capacityBytes = Number.POSITIVE_INFINITY
  const values = await world.finish(world.outside.keyValues.open(directory))
  const entries = await world.finish(values.range(Buffer.from([0]), Buffer.from([2]), 1_000))
  if (entries.length > 0) {
    const { key, value } = random.pick(entries)
    const place = random.below(value.length)
    value[place] = (value[place] ?? 0) ^ (1 << random.below(8))
    await world.finish(values.write([{ key, value }], true))
    totals.add('flip in an index')
  }
  await world.finish(values.close())
  disk.capacityBytes = capacityBytes
}

async function damagedId(
  simulation: Simulation,
  { path, position, bit }: FlippedBit,
): Promise<string | undefined> {
  const bytes = await readFile(simulation, path)
  // As it was before.
  bytes[position] = (bytes[position] ?? 0) ^ (1 << bit)
  if (path.includes('/consumequeue/')) {
    return idInQueue(simulation, bytes, position - (position % UNIT_BYTES))
  }
  const headerBytes = path.includes('/commitlog/') ? 0 : TIMER_HEADER_BYTES
  // What begins before the place and reaches over it.
  for (let at = position + headerBytes; at >= 0; at--) {
    if (checkRecord(bytes, at, bytes.length).kind !== 'record') continue
    return at + recordSize(bytes, at) > position ? idAt(simulation, bytes, at) : undefined
  }
  return undefined
}

/** Of the message that a unit names; `undefined` where no unit is. */
async function idInQueue(
  simulation: Simulation,
  units: Buffer,
  at: number,
): Promise<string | undefined> {
  if (units.readInt32BE(at + UNIT_SIZE_AT) === 0) return undefined
  const { data, log } = simulation.setting.options
  const logOffset = Number(units.readBigInt64BE(at))
  const base = logOffset - (logOffset % log.segmentBytes)
  const segment = await readFile(simulation, `${data}/commitlog/${String(base).padStart(20, '0')}`)
  const isWhole = checkRecord(segment, logOffset - base, segment.length).kind === 'record'
  return isWhole ? idAt(simulation, segment, logOffset - base) : undefined
}

async function readFile({ world }: Simulation, path: string): Promise<Buffer> {
  const bytes = await world.finish(readWholeFile(world.outside.files, path))
  return bytes ?? Buffer.alloc(0)
}

function idAt(simulation: Simulation, source: Buffer, at: number): string {
  const properties = recordProperties(source, at)
  const cancelled = findProperty(properties, PROPERTY.ORRERY_CANCELS)
  const key = findProperty(properties, PROPERTY.ORRERY_KEY)
  if (key !== undefined) {
    damagedWithKey(simulation.ledger, findProperty(properties, PROPERTY.REAL_TOPIC) ?? '', key)
  }
  if (cancelled === undefined) return idOf(properties, recordReconsumeTimes(source, at))
  const [timerId] = cancelled.split(' ')
  const sends = [...simulation.ledger.sends.values()]
  return sends.find(send => String(send.acceptOffset) === timerId)?.id ?? ''
}
