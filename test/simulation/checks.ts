import { describe } from './ledger.ts'
import type { Place, QueueKnowledge } from './ledger.ts'
import type { Simulation } from './simulation.ts'
import { Violation } from './violation.ts'

const FOLDERS = ['ladder/30d', 'ladder/1d', 'ladder/1h', 'ladder/1min', 'ladder/1s']
const FINE_FOLDERS = ['ladder/20ms', 'ladder/1ms', 'parked']

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
    if (place.storeTimeMs + setting.options.retention <= ledger.latestTimeMs) {
      place.isRemoved = true
      return
    }
    throw new Violation(5, `${at}: ${describe(send)} was removed too early`)
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
  if (waitingCount !== 0 || parkedCount !== 0) {
    throw new Violation(1, `nothing waits, and the counters say ${JSON.stringify(statistics)}`)
  }
  if (lostCount !== 0 && !setting.flipsBits) {
    throw new Violation(10, `${lostCount} messages count as lost`)
  }
}

function checkReported(simulation: Simulation): void {
  const isReported = simulation.world.logLines.some(({ level, message, fields }) => {
    if (message === 'recovered') return fields['torn'] === true
    return level === 'error' && /damaged|missing|lost|not in the log/.test(message)
  })
  if (!isReported) throw new Violation(10, 'a message was lost by damage that nobody reported')
}

/** Files of timers, at a time when none can be left. */
export async function checkFoldersEmpty(simulation: Simulation): Promise<void> {
  const { world, setting } = simulation
  for (const folder of [...FOLDERS, ...FINE_FOLDERS]) {
    const path = `${setting.options.data}/orrery/${folder}`
    const names = await world.finish(world.outside.files.list(path))
    if (names.length > 0) throw new Violation(5, `${folder} still holds ${names.join(' ')}`)
  }
}
