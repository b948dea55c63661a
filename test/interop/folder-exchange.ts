/**
 * One data folder goes from one server to another and on, each time after a clean stop: Orrery and
 * Apache RocketMQ read each other's messages, queues, levels, topics and offsets.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Launch } from './client-programs.ts'
import { type ClientRun, runClient } from './client-run.ts'
import type { Received, Sent } from './events.ts'
import { changes, dueRange, groupById, levelDelayMs } from './judge.ts'
import { type KindShare, makePlan, type PlannedMessage } from './plan.ts'
import type { Report } from './report.ts'
import { type OpenServer, SEGMENT_BYTES, type Server, type ServerKind } from './server.ts'

export interface FolderExchange {
  /** Who opens the folder, in this order; two at least. */
  readonly servers: readonly ServerKind[]
  /** So long that a message sent before a server stops is due when the one after the next runs. */
  readonly farLevel: number
  readonly openServer: OpenServer
  readonly launch: Launch
  readonly workFolder: string
  readonly report: Report
}

const TOPIC = 'interop-folder'
const GROUP = 'interop-folder-group'
const CONSUME_MS = 120_000

/** Consumed by the server that takes them. */
const consumedHere: readonly KindShare[] = [
  { kind: 'plain', values: [0], count: 12 },
  { kind: 'level', values: [1], count: 6 },
]

/** Left for the next server: in the log, or waiting and due soon after, or due much later. */
function leftBehind(farLevel: number): readonly KindShare[] {
  return [
    { kind: 'plain', values: [0], count: 10 },
    { kind: 'level', values: [1, 2], count: 8 },
    { kind: 'level', values: [4], count: 6 },
    { kind: 'level', values: [farLevel], count: 6 },
  ]
}

/** What happened to the folder so far. */
interface History {
  readonly plan: PlannedMessage[]
  readonly sent: Map<string, Sent>
  /** By the group that goes on from server to server. */
  readonly received: Received[]
  /** How many of them each server sent, turn by turn. */
  readonly servedCounts: number[]
  readonly problems: string[]
}

export async function testFolderExchange(test: FolderExchange): Promise<void> {
  const { servers, report, workFolder } = test
  const name = `a folder goes ${servers.join(' → ')}`
  const history: History = {
    plan: [],
    sent: new Map(),
    received: [],
    servedCounts: [],
    problems: [],
  }
  mkdirSync(workFolder, { recursive: true })
  for (const [turn, kind] of servers.entries()) {
    const request = {
      dataFolder: join(workFolder, 'data'),
      homeFolder: join(workFolder, `home-${turn}-${kind}`),
      segmentBytes: SEGMENT_BYTES,
    }
    try {
      const server = await test.openServer(kind, request)
      await takeTurn(test, history, { server, turn, isLast: turn === servers.length - 1 })
      await server.stop()
    } catch (error) {
      history.problems.push(`turn ${turn}: ${String(error)}`)
    }
    if (history.problems.length > 0) break
  }
  judgeHistory(history)
  if (history.problems.length > 0) report.fail(name, history.problems)
  else {
    const counts = history.servedCounts.join(' + ')
    report.pass(`${name}, and each of ${history.plan.length} messages is served once (${counts})`)
  }
}

interface Turn {
  readonly server: Server
  readonly turn: number
  readonly isLast: boolean
}

async function takeTurn(test: FolderExchange, history: History, turn: Turn): Promise<void> {
  const isFirst = turn.turn === 0
  const waiting = new Set(
    isFirst || turn.isLast
      ? []
      : history.plan.filter(isDueMuchLater(history, test.farLevel)).map(({ id }) => id),
  )
  const pending = history.plan.filter(({ id }) => !isReceived(history, id) && !waiting.has(id))
  const here = turn.isLast ? [] : makePlan(`turn${turn.turn}-here`, consumedHere)
  await clientRun(test, history, turn, {
    group: GROUP,
    plan: here,
    receiveCount: pending.length + here.length,
    isWarmedUp: isFirst,
    timeoutMs: CONSUME_MS + levelDelayMs(test.farLevel),
  })
  const earlierCount = history.servedCounts.reduce((sum, count) => sum + count, 0)
  history.servedCounts.push(history.received.length - earlierCount)
  await readAgain(test, history, turn)
  if (turn.isLast) return
  const left = makePlan(`turn${turn.turn}-left`, leftBehind(test.farLevel))
  await clientRun(test, history, turn, {
    group: GROUP,
    plan: left,
    receiveCount: 0,
    isWarmedUp: false,
    timeoutMs: CONSUME_MS,
  })
}

/** Left by the server just before: it is due only when this turn is over. */
function isDueMuchLater(history: History, farLevel: number): (planned: PlannedMessage) => boolean {
  return planned => {
    const sent = history.sent.get(planned.id)
    return (
      planned.kind === 'level' &&
      planned.value === farLevel &&
      sent !== undefined &&
      dueRange(planned, sent).latestMs > Date.now() + levelDelayMs(farLevel) / 4
    )
  }
}

/** A new group reads the topic from its beginning: every message served so far lies there once. */
async function readAgain(test: FolderExchange, history: History, turn: Turn): Promise<void> {
  const known = new Set(history.received.map(({ id }) => id))
  const { events, problems } = await runClient(test.launch, test.workFolder, {
    ...fixedRun(turn.server),
    group: `${GROUP}-again-${turn.turn}`,
    plan: [],
    receiveCount: known.size,
    isWarmedUp: false,
    timeoutMs: CONSUME_MS,
  })
  const again = groupById(events.received)
  const where = `turn ${turn.turn} (${turn.server.name}), a new group`
  for (const problem of problems) history.problems.push(`${where}: ${problem}`)
  for (const id of known) {
    const times = again.get(id)?.length ?? 0
    if (times !== 1) history.problems.push(`${where} received ${id} ${times} times`)
  }
}

function fixedRun(server: Server): Pick<ClientRun, 'nameserver' | 'topic' | 'quietMs'> {
  return { nameserver: server.nameserver, topic: TOPIC, quietMs: 3_000 }
}

async function clientRun(
  test: FolderExchange,
  history: History,
  { server, turn }: Turn,
  request: Omit<ClientRun, 'nameserver' | 'topic' | 'quietMs'>,
): Promise<void> {
  history.plan.push(...request.plan)
  const { events, problems } = await runClient(test.launch, test.workFolder, {
    ...fixedRun(server),
    ...request,
  })
  for (const [id, sent] of events.sent) history.sent.set(id, sent)
  history.received.push(...events.received)
  const where = `turn ${turn} (${server.name})`
  for (const problem of problems) history.problems.push(`${where}: ${problem}`)
  for (const [id, reason] of events.failed) {
    history.problems.push(`${where}: ${id} was not sent: ${reason}`)
  }
  const receivedCount = new Set(events.received.map(({ id }) => id)).size
  if (receivedCount < request.receiveCount) {
    history.problems.push(`${where}: ${receivedCount} of ${request.receiveCount} messages arrived`)
  }
}

function isReceived(history: History, id: string): boolean {
  return history.received.some(received => received.id === id)
}

/** Lateness is no matter here, since servers were down; early, lost, changed or doubled is. */
function judgeHistory({ plan, sent, received, problems }: History): void {
  const receipts = groupById(received)
  const planned = new Set(plan.map(({ id }) => id))
  for (const message of plan) {
    const [first, ...rest] = receipts.get(message.id) ?? []
    const sending = sent.get(message.id)
    if (first === undefined || sending === undefined) {
      problems.push(`${message.id} was ${sending === undefined ? 'not sent' : 'never served'}`)
      continue
    }
    if (rest.length > 0) problems.push(`${message.id} was served ${rest.length + 1} times`)
    const earlyMs = dueRange(message, sending).earliestMs - first.atMs
    if (earlyMs > 0) problems.push(`${message.id} was served ${earlyMs} ms early`)
    problems.push(...changes(message, first))
  }
  for (const id of receipts.keys()) {
    if (!planned.has(id)) problems.push(`${id} was served, and nobody sent it`)
  }
}
