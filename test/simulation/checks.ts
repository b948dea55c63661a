import type { SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import type { Engine } from '../../src/server/index.ts'
import { describe, isCancelled } from './ledger.ts'
import type { Place, QueueKnowledge, Send } from './ledger.ts'
import type { Simulation } from './simulation.ts'
import { Violation } from './violation.ts'

const FOLDERS = ['ladder/30d', 'ladder/1d', 'ladder/1h', 'ladder/1min', 'ladder/1s']
const FINE_FOLDERS = ['ladder/20ms', 'ladder/1ms', 'parked']

/** By so much a load passes its limit, and what is near another two times. */
const LOAD_STEP_BYTES = 3 * 1024 * 1024
/** What one turn may stage before whoever sends is held back: a page of 32 KiB for each message. */
const STAGING_STEP_BYTES = 4 * 1024 * 1024

/** After everything was read again: what was seen before must have been there. */
export function checkRound(simulation: Simulation): void {
  for (const queue of simulation.ledger.queues.values()) {
    for (const place of queue.places) {
      if (place !== undefined && !place.isRemoved) checkPlace(simulation, queue, place)
    }
  }
}

function checkPlace(simulation: Simulation, queue: QueueKnowledge, place: Place): void {
  const { ledger, process, setting } = simulation
  if (place.round === ledger.round) return
  const { send, queueOffset } = place
  const stored = process.engine.store.findQueue(queue.topic, queue.queueId)
  const at = `${queue.topic}/${queue.queueId}/${queueOffset}`
  if (stored !== undefined && queueOffset < stored.minOffset) {
    const isOld = place.storeTimeMs + setting.options.retention <= ledger.latestTimeMs
    // A queue begins behind a first message that was destroyed.
    if (isOld || place.isUndated || send.isDamaged) {
      place.isRemoved = true
      return
    }
    const times = `stored ${place.storeTimeMs} at ${place.commitLogOffset}, now ${simulation.nowMs}`
    throw new Violation(5, `${at}: ${describe(send)}, ${times}, was removed too early`)
  }
  if (send.isDamaged) {
    queue.places[queueOffset] = undefined
    if (send.place === place) send.place = undefined
    return
  }
  const range = `${stored?.minOffset} to ${stored?.maxOffset}`
  const log = `log offset ${place.commitLogOffset}`
  throw new Violation(1, `${at}: ${describe(send)}, ${log}, was seen and is gone; it has ${range}`)
}

/** Memory of the timers, at any time. */
export function checkBounds({ process, setting }: Simulation): void {
  const { loadedBytes, stagedBytes } = process.engine.timers.statistics()
  const { window, timer } = setting.options
  if (loadedBytes > window.bodyBytes + LOAD_STEP_BYTES) {
    throw new Violation(6, `${loadedBytes} bytes are loaded, and ${window.bodyBytes} permitted`)
  }
  if (stagedBytes > timer.stagingBytes + STAGING_STEP_BYTES) {
    throw new Violation(6, `${stagedBytes} bytes are staged, and ${timer.stagingBytes} permitted`)
  }
}

/** At the end, when nothing waits any more. */
export function checkAllDelivered(simulation: Simulation): void {
  const { ledger, setting } = simulation
  const statistics = simulation.process.engine.timers.statistics()
  const waiting = ledger.waiting().toSorted((a, b) => a.deliverTimeMs - b.deliverTimeMs)
  for (const send of waiting) {
    if (send.isDamaged) {
      checkReported(simulation)
      continue
    }
    const counts = JSON.stringify(statistics)
    const others = `${waiting.length - 1} others, at ${simulation.nowMs}, ${counts}`
    throw new Violation(1, `${describe(send)} was accepted and is nowhere; ${others}`)
  }
  const { waitingCount, parkedCount, lostCount } = statistics
  // A cancelled or moved message whose bytes are damaged counts until its chunk is read to the end.
  const damagedCount = [...ledger.sends.values()].filter(isDamagedAndRemoved).length
  if (waitingCount < 0 || waitingCount > damagedCount || parkedCount !== 0) {
    throw new Violation(1, `nothing waits, and the counters say ${JSON.stringify(statistics)}`)
  }
  // A message that was on its way in a power cut may leave a gap in the queue of its level.
  const hasGaps = isInLog(simulation, /passed over|never written to the log/)
  if (lostCount !== 0 && !setting.flipsBits && !hasGaps) {
    throw new Violation(10, `${lostCount} messages count as lost`)
  }
}

function checkReported(simulation: Simulation): void {
  // Damage of the newest record cannot be told from a write that a power cut has torn.
  const isReported = isInLog(simulation, /damaged|missing|lost|not in the log|was cut off/)
  if (!isReported) throw new Violation(10, 'a message was lost by damage that nobody reported')
}

function isDamagedAndRemoved(send: Send): boolean {
  return send.isDamaged && (isCancelled(send) || send.moves.isPossible)
}

function isInLog({ world }: Simulation, pattern: RegExp): boolean {
  return world.logLines.some(({ level, message }) => {
    return (level === 'error' || level === 'warn') && pattern.test(message)
  })
}

/** Files and memory of timers, at a time when none can be left. */
export async function checkNothingLeft(simulation: Simulation): Promise<void> {
  const { world, setting, process } = simulation
  const leftovers = await timerLeftovers(world, setting.options.data, process.engine)
  if (leftovers.length > 0) throw new Violation(5, leftovers.join('; '))
  await checkNothingMoved(simulation)
}

/** What timers hold, in words: memory, and files in the data folder; none when nothing. */
export async function timerLeftovers(
  world: SimulatedWorld,
  dataDirectory: string,
  engine: Engine,
): Promise<readonly string[]> {
  const leftovers: string[] = []
  const { windowCount, loadedBytes, stagedBytes } = engine.timers.statistics()
  if (windowCount + loadedBytes + stagedBytes > 0) {
    leftovers.push(`${windowCount} in the window, ${loadedBytes} loaded, ${stagedBytes} staged`)
  }
  for (const folder of [...FOLDERS, ...FINE_FOLDERS]) {
    const names = await world.finish(world.outside.files.list(`${dataDirectory}/orrery/${folder}`))
    if (names.length > 0) leftovers.push(`${folder} still holds ${names.join(' ')}`)
  }
  return leftovers
}

/** Where moved messages are is forgotten a month after their time. Stops the broker. */
async function checkNothingMoved({ world, setting, process }: Simulation): Promise<void> {
  if (!(await process.stop(() => false))) return
  world.exit()
  const directory = `${setting.options.data}/orrery/moved`
  const names = await world.finish(world.outside.files.list(directory))
  // An entry that went bad at the last start stays until the next one.
  if (names.length === 0 || setting.flipsBits) return
  const values = await world.finish(world.outside.keyValues.open(directory))
  // Behind the marker.
  const entries = await world.finish(values.range(Buffer.from([1]), Buffer.from([2]), 10))
  if (entries.length > 0) throw new Violation(5, 'the index of moved messages is not empty')
}
