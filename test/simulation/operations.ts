import { BrokerError } from '../../src/core/base/index.ts'
import type { MoveResult } from '../../src/model/schedule/index.ts'
import type { FileCall } from '../../src/core/platform/simulated/index.ts'
import { deadLetterTopic, PROPERTY, retryTopic } from '../../src/model/message/index.ts'
import { cancelByFilter, shiftByFilter } from './bulk.ts'
import { cancelByKey, moveByKey, replace, replaceMany } from './keys.ts'
import { LEVELS_MS, levelWish, timerWish, timerWishAt } from './deliver-times.ts'
import {
  isUnseen,
  checkNotBefore,
  checkNotCancelled,
  noCancels,
  noMoves,
  type Place,
  type Send,
} from './ledger.ts'
import { listWaiting } from './lists.ts'
import { GROUP, type Simulation, TOPICS } from './simulation.ts'

interface Operation {
  readonly name: string
  readonly weight: number
  readonly run: (simulation: Simulation) => Promise<void> | void
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const PERM_READ_ONLY = 4
const PERM_OPEN = 6
const FIRST_RETRY_LEVEL = 3
const FAILING: readonly FileCall[] = [
  'write',
  'datasync',
  'read',
  'open',
  'truncate',
  'syncDirectory',
  'rename',
  'remove',
  'space',
  'list',
  'keyValueRead',
  'keyValueWrite',
]

const operations: readonly Operation[] = [
  { name: 'plain', weight: 14, run: sendPlain },
  {
    name: 'batch',
    weight: 5,
    run: sim => whenRoom(sim, () => sim.process.sender.sendBatch(topic(sim))),
  },
  { name: 'level', weight: 14, run: sendLevel },
  { name: 'timer', weight: 34, run: sendTimer },
  { name: 'burst', weight: 2, run: sendBurst },
  { name: 'hot millisecond', weight: 2, run: sendHot },
  { name: 'new topic', weight: 1, run: sendNewTopic },
  { name: 'cancel', weight: 8, run: cancel },
  { name: 'cancel many', weight: 1, run: cancelMany },
  { name: 'cancel most that is far', weight: 0.3, run: cancelFar },
  { name: 'move', weight: 6, run: move },
  { name: 'deliver now', weight: 2, run: sim => moveTo(sim, sim.nowMs) },
  { name: 'replace', weight: 9, run: replace },
  { name: 'replace many', weight: 1, run: replaceMany },
  { name: 'cancel by key', weight: 2, run: cancelByKey },
  { name: 'move by key', weight: 2, run: moveByKey },
  { name: 'list', weight: 2, run: listWaiting },
  { name: 'cancel by filter', weight: 0.5, run: cancelByFilter },
  { name: 'shift by filter', weight: 0.5, run: shiftByFilter },
  { name: 'send back', weight: 5, run: sim => sendBack(sim, 0) },
  { name: 'send back to a level', weight: 2, run: sim => sendBack(sim, 1 + sim.random.below(4)) },
  { name: 'give up', weight: 1, run: sim => sendBack(sim, -1) },
  { name: 'close topic', weight: 2, run: closeTopic },
  { name: 'open topic', weight: 2, run: openTopic },
  { name: 'short pause', weight: 8, run: sim => sim.pass(sim.random.below(60)) },
  { name: 'pause', weight: 4, run: sim => sim.pass(sim.random.below(2500)) },
  { name: 'long pause', weight: 0.5, run: sim => sim.pass(sim.random.below(20_000)) },
  { name: 'jump to what is due', weight: 4, run: jumpToDue },
  { name: 'clock forward', weight: 2, run: clockForward },
  { name: 'clock back', weight: 2, run: clockBack },
  { name: 'power cut', weight: 1.2, run: cutPower },
  { name: 'kill', weight: 1.2, run: kill },
  { name: 'clean stop', weight: 0.7, run: stop },
  { name: 'disk full', weight: 0.8, run: fillDisk },
  { name: 'disk freed', weight: 1.5, run: freeDisk },
  { name: 'failing calls', weight: 0.7, run: failCalls },
  { name: 'damaged index', weight: 0.5, run: damageIndex },
  { name: 'slow calls', weight: 0.7, run: slowCalls },
  { name: 'healed', weight: 1, run: sim => sim.heal() },
]

/** What may hold up or move messages. Restarts and clock steps tell by themselves. */
const DISTURBING = new Set([
  'close topic',
  'open topic',
  'disk full',
  'failing calls',
  'slow calls',
])

export const OPERATION_NAMES: readonly string[] = operations.map(({ name }) => name)

const WEIGHT_SUM = operations.reduce((sum, { weight }) => sum + weight, 0)

/** Does something at random, then lets a little time pass or none. */
export async function operate(simulation: Simulation): Promise<void> {
  const { random, totals } = simulation
  let rest = random.fraction() * WEIGHT_SUM
  const operation = operations.find(({ weight }) => (rest -= weight) < 0)
  if (operation === undefined) return
  await perform(simulation, operation)
  totals.add('operations')
  await simulation.pass(random.pick([0, 0, 0, 0.3, 2, 10, 30]))
}

/** Does a thing by its name. */
export async function operateAs(simulation: Simulation, name: string): Promise<void> {
  const operation = operations.find(candidate => candidate.name === name)
  if (operation !== undefined) await perform(simulation, operation)
}

async function perform(simulation: Simulation, operation: Operation): Promise<void> {
  simulation.trace(operation.name)
  simulation.totals.add(`operation ${operation.name}`)
  if (DISTURBING.has(operation.name)) simulation.ledger.calm++
  await operation.run(simulation)
}

function topic({ random }: Simulation): string {
  return random.pick(TOPICS)
}

/** As the doors do: nothing is read from senders while the store is congested. */
function whenRoom({ process, totals }: Simulation, send: () => void): void {
  if (process.engine.store.congested) totals.add('held back while congested')
  else send()
}

function sendPlain(sim: Simulation): void {
  const wish = { kind: 'plain' as const, topic: topic(sim), delay: [], deliverTimeMs: 0 }
  whenRoom(sim, () => sim.process.sender.send(wish))
}

function sendLevel(sim: Simulation): void {
  whenRoom(sim, () => sim.process.sender.send(levelWish(sim.random, topic(sim), sim.nowMs)))
}

function sendTimer(sim: Simulation): void {
  if (sim.hotMs <= sim.nowMs) sim.hotMs = sim.nowMs + sim.random.below(MINUTE_MS)
  whenRoom(sim, () => sim.process.sender.send(timerWish(sim.random, topic(sim), sim)))
}

/** Everything at once, before the broker gets a turn. */
function sendBurst(sim: Simulation): void {
  for (let count = sim.random.below(20); count > 0; count--) {
    sim.random.pick([sendPlain, sendLevel, sendTimer])(sim)
  }
}

/** Many messages for one and the same millisecond. */
function sendHot(sim: Simulation): void {
  const { nowMs, random } = sim
  const dueMs = nowMs + random.pick([1, 50, 6000, 11_000, 90_000, 5 * HOUR_MS]) + random.below(1000)
  for (let count = 5 + random.below(30); count > 0; count--) {
    const wish = timerWishAt(random.pick(TOPICS), dueMs, nowMs)
    whenRoom(sim, () => sim.process.sender.send(wish))
  }
}

function sendNewTopic(sim: Simulation): void {
  const wish = timerWish(sim.random, sim.newTopic(), sim)
  whenRoom(sim, () => sim.process.sender.send(wish))
}

/** A consumer could not consume a message that it got. */
async function sendBack(sim: Simulation, delayLevel: number): Promise<void> {
  const place = somePlace(sim)
  if (place === undefined) return
  const { ledger, process, totals } = sim
  const group = process.engine.broker.groups.createOnUse(GROUP)
  const fromMs = sim.nowMs
  const send = sentBack(sim, place, delayLevel)
  const isGivenUp = delayLevel < 0 || place.reconsumeTimes >= group.retryCountMax
  const level = delayLevel === 0 ? FIRST_RETRY_LEVEL + place.reconsumeTimes : delayLevel
  const delayMs = LEVELS_MS[Math.min(level, LEVELS_MS.length) - 1] ?? 0
  send.deliverTimeMs = isGivenUp ? 0 : fromMs + delayMs
  place.send.isSentBack = true
  ledger.add(send)
  const request = {
    group: GROUP,
    commitLogOffset: place.commitLogOffset,
    delayLevel,
    unitMode: false,
    clientVersion: 0,
    maxReconsumeTimes: undefined,
  }
  const done = process.engine.sendBack.sendBack(request).then(
    () => true,
    () => false,
  )
  if ((await sim.settled(done)) !== true || sim.process !== process) return
  send.isAcknowledged = true
  totals.add(`accepted ${send.kind}`)
}

function sentBack(sim: Simulation, place: Place, delayLevel: number): Send {
  const { send } = place
  const reconsumeTimes = place.reconsumeTimes + 1
  const kind = delayLevel < 0 ? 'dead-letter' : 'retry'
  const properties = new Map([...send.properties, [PROPERTY.WAIT, 'false'] as const])
  return {
    ...send,
    id: `${send.number}/${reconsumeTimes}`,
    kind,
    topic: kind === 'retry' ? retryTopic(GROUP) : deadLetterTopic(GROUP),
    queueId: -1,
    properties,
    acceptOffset: -1,
    sentAtMs: sim.nowMs,
    calm: sim.ledger.calm,
    isAcknowledged: false,
    place: undefined,
    isSentBack: false,
    handle: undefined,
    cancels: noCancels(),
    moves: noMoves(),
    late: undefined,
    droppedOffset: Infinity,
  }
}

function somePlace({ ledger, random }: Simulation): Place | undefined {
  const queues = [...ledger.queues.values()]
  if (queues.length === 0) return undefined
  const { places } = random.pick(queues)
  if (places.length === 0) return undefined
  const place = places[Math.max(0, places.length - 1 - random.below(20))]
  if (place === undefined || place.isRemoved || place.send.isDamaged) return undefined
  return place.send.isSentBack ? undefined : place
}

/** A message that waits, mostly; sometimes one that does not any more. */
function scheduled({ ledger, random }: Simulation): Send | undefined {
  const isAny = random.chance(0.2)
  const sends = isAny ? [...ledger.sends.values()] : ledger.waiting()
  const known = sends.filter(send => send.handle !== undefined && send.isAcknowledged)
  return known[known.length - 1 - random.below(Math.min(100, known.length || 1))]
}

function cancel(sim: Simulation): void {
  const send = scheduled(sim)
  if (send !== undefined) askToCancel(sim, send)
}

function move(sim: Simulation): void {
  const { random } = sim
  const aheadMs = random.pick([1, 50, 6000, 11_000, 90_000, HOUR_MS, 30 * HOUR_MS])
  moveTo(sim, sim.nowMs + random.below(aheadMs))
}

function moveTo(sim: Simulation, deliverTimeMs: number): void {
  const { process, totals } = sim
  const send = scheduled(sim)
  if (send === undefined) return
  const { moves, handle = '' } = send
  moves.mayBeDueMs.push(deliverTimeMs)
  moves.isPossible = true
  totals.add('move asked')
  const answered = (result: MoveResult): void => {
    if (sim.process !== process) return
    totals.add(`move answered ${result.kind}`)
    if (result.kind !== 'moved') return
    // Of several at once nobody knows which came last.
    if (moves.mayBeDueMs.length > 1) return
    // With asynchronous flush a power cut may take it back.
    moves.mayBeDueMs = sim.setting.options.flush === 'async' ? [send.deliverTimeMs] : []
    send.deliverTimeMs = result.deliverTimeMs
    checkNotBefore(send)
  }
  const refused = (error: unknown): void => {
    if (!(error instanceof BrokerError)) throw error
    totals.add(`move refused ${error.code}`)
  }
  process.engine.scheduled.move({ id: handle }, deliverTimeMs).then(answered, refused)
}

/** Everything at once, before the broker gets a turn. */
function cancelMany(sim: Simulation): void {
  for (let count = sim.random.below(20); count > 0; count--) cancel(sim)
}

/** So many that files are rewritten without them. */
function cancelFar(sim: Simulation): void {
  for (const send of sim.ledger.waiting()) {
    if (send.handle === undefined || send.deliverTimeMs < sim.nowMs + HOUR_MS) continue
    if (send.isAcknowledged && sim.random.chance(0.9)) askToCancel(sim, send)
  }
}

function askToCancel(sim: Simulation, send: Send): void {
  const { process, totals } = sim
  const { cancels, handle = '' } = send
  cancels.unansweredCount++
  totals.add('cancel asked')
  const answered = (result: string): void => {
    if (sim.process !== process) return
    totals.add(`cancel answered ${result}`)
    cancels.unansweredCount--
    if (result !== 'cancelled') return
    cancels.doneOffset = Math.min(cancels.doneOffset, process.engine.store.endOffset)
    // A reader may have seen it before.
    if (!isUnseen(send)) checkNotCancelled(send, 'already')
  }
  const refused = (error: unknown): void => {
    if (!(error instanceof BrokerError)) throw error
    totals.add(`cancel refused ${error.code}`)
  }
  process.engine.scheduled.cancel({ id: handle }).then(answered, refused)
}

async function closeTopic(sim: Simulation): Promise<void> {
  const name = topic(sim)
  sim.closedTopics.add(name)
  await sim.setPermission(name, PERM_READ_ONLY)
}

async function openTopic(sim: Simulation): Promise<void> {
  const [name] = sim.closedTopics
  if (name === undefined) return
  sim.closedTopics.delete(name)
  await sim.setPermission(name, PERM_OPEN)
}

/** Nothing happens for long: the clock goes to shortly before the next message is due. */
async function jumpToDue(sim: Simulation): Promise<void> {
  const dues = sim.ledger.waiting().map(send => send.deliverTimeMs)
  const future = dues.filter(dueMs => dueMs > sim.nowMs)
  if (future.length === 0) return
  const restMs = Math.min(...future) - sim.nowMs
  const leadMs = sim.random.pick([0, 1, 400, 4000, 11_000])
  if (restMs > leadMs) await sim.stepClock(restMs - leadMs)
  await sim.pass(leadMs + sim.random.below(100))
}

async function clockForward(sim: Simulation): Promise<void> {
  const { random } = sim
  await sim.stepClock(random.below(random.pick([10, SECOND_MS, MINUTE_MS, 5 * HOUR_MS])))
}

async function clockBack(sim: Simulation): Promise<void> {
  const { random } = sim
  await sim.stepClock(-random.below(random.pick([10, SECOND_MS, MINUTE_MS, 5 * HOUR_MS])))
}

async function cutPower(sim: Simulation): Promise<void> {
  await sim.readRest()
  sim.cutPower()
  await sim.restart('power cut')
}

async function kill(sim: Simulation): Promise<void> {
  sim.world.kill()
  await sim.restart('kill')
}

async function stop(sim: Simulation): Promise<void> {
  const { random, process, totals, world } = sim
  let rest = random.chance(0.3) ? random.below(150) : Infinity
  const isClean = await process.stop(() => rest-- <= 0)
  totals.add(isClean ? 'stopped' : 'stop interrupted')
  sim.check()
  if (isClean) world.exit()
  else if (random.chance(0.5)) sim.cutPower()
  else world.kill()
  await sim.restart('clean stop')
}

function fillDisk(sim: Simulation): void {
  const { disk } = sim.world
  disk.capacityBytes = disk.usedBytes() + sim.random.below(300_000)
}

function freeDisk(sim: Simulation): void {
  sim.world.disk.capacityBytes = Number.POSITIVE_INFINITY
}

function failCalls(sim: Simulation): void {
  const { random, world } = sim
  world.faults.failNext({
    call: random.pick(FAILING),
    ...(random.chance(0.5) ? {} : { path: random.pick([/commitlog/, /ladder|parked/, /config/]) }),
    error: 'STORE_FAILED',
    count: 1 + random.below(2),
  })
}

/** What a database says of itself in the middle of things. */
function damageIndex({ random, world }: Simulation): void {
  world.faults.failNext({
    call: random.pick(['keyValueRead', 'keyValueRead', 'keyValueWrite']),
    path: random.pick([/moved/, /keys/]),
    error: 'STORE_DAMAGED',
    count: 1 + random.below(2),
  })
}

function slowCalls(sim: Simulation): void {
  sim.world.faults.rates.slowCall = sim.random.pick([0.1, 0.5])
}
