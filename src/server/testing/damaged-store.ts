/** Bits that go bad and files that are cut off, and what `verifyStore` and a start make of it. */
import { BrokerError } from '../../core/base/index.ts'
import { type SeededRandom, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  APACHE_GEOMETRY,
  ITEM_BYTES,
  itemKeyHash,
  SLOT_BYTES,
  slotPosition,
} from '../../engine/store/index.ts'
import { type Finding, verifyStore } from '../../engine/verify/index.ts'
import {
  checkRecord,
  findProperty,
  PROPERTY,
  recordMagic,
  RECORD_MAGIC_V1,
  RECORD_SIZE_MIN_BYTES,
  recordProperties,
  recordSize,
} from '../../model/message/index.ts'
import { CLOSED_TOPIC, EngineRun, filesOn, makeStore, OPEN_TOPIC } from './small-store.ts'

/** What can go bad: one kind of file, and where bytes were written in each. */
export interface DamageTarget {
  readonly kind: 'log' | 'queue' | 'index' | 'ladder' | 'parked' | 'manifest'
  readonly path: string
  readonly content: Buffer
  /** Behind the last byte that a reader looks at. */
  readonly writtenBytes: number
}

type Range = readonly [from: number, to: number]

const TARGETS: readonly (readonly [DamageTarget['kind'], RegExp])[] = [
  ['log', /\/commitlog\/\d+$/],
  ['queue', /\/consumequeue\/.*\/\d{20}$/],
  ['index', /\/index\/\d{17}$/],
  ['ladder', /\/orrery\/ladder\/.*\/\d+-\d+$/],
  ['parked', /\/orrery\/parked\/\d+$/],
  ['manifest', /\/orrery\/manifest-[ab]$/],
]
const UNIT_BYTES = 20
const ZEROS = Buffer.alloc(64 * 1024)
const UNUSED = /the unused end of the segment$|which no reader uses$/

/** The files of the store that are under a promise: every change of a bit in them is found. */
export async function damageTargets(world: SimulatedWorld): Promise<readonly DamageTarget[]> {
  const targets: DamageTarget[] = []
  for (const [path, content] of await filesOn(world)) {
    const kind = TARGETS.find(([, pattern]) => pattern.test(path))?.[0]
    if (kind === undefined) continue
    const isFilledUp = kind === 'log' || kind === 'queue' || kind === 'index'
    const writtenBytes = isFilledUp ? usedBytes(content) : content.length
    targets.push({ kind, path, content, writtenBytes })
  }
  return targets
}

/** Up to the end of the last unit, of which the last bytes may be zeros. */
function usedBytes(content: Buffer): number {
  let end = content.length
  while (end > ZEROS.length && content.subarray(end - ZEROS.length, end).equals(ZEROS)) {
    end -= ZEROS.length
  }
  while (end > 0 && content[end - 1] === 0) end--
  return Math.min(content.length, Math.ceil(end / UNIT_BYTES) * UNIT_BYTES)
}

/** Each kind as often as any other, a large file more often than a small one. */
export function pickTarget(
  random: SeededRandom,
  targets: readonly DamageTarget[],
): { readonly target: DamageTarget; readonly position: number } {
  const kind = random.pick([...new Set(targets.map(target => target.kind))])
  const ofKind = targets.filter(target => target.kind === kind)
  let position = random.below(ofKind.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0))
  for (const target of ofKind) {
    if (position >= target.writtenBytes) {
      position -= target.writtenBytes
      continue
    }
    if (kind !== 'index') return { target, position }
    const [from, to] = pickPart(random, target)
    return { target, position: from + random.below(to - from) }
  }
  throw new Error('there is no file to damage')
}

/** Of an index file nearly everything is slots that are not in use. */
function pickPart(random: SeededRandom, { content, writtenBytes }: DamageTarget): Range {
  const { slotCount } = APACHE_GEOMETRY
  const header: Range = [0, slotPosition(0)]
  const slots: Range = [slotPosition(0), slotPosition(slotCount)]
  const items: Range = [slotPosition(slotCount), writtenBytes]
  const item = items[0] + random.below(items[1] - items[0])
  const hash = itemKeyHash(content, item - (item % ITEM_BYTES))
  const used = slotPosition(hash % slotCount)
  return random.pick([header, slots, [used, used + SLOT_BYTES], items, items])
}

/** Cuts a file off. */
export async function cutFile(
  world: SimulatedWorld,
  path: string,
  sizeBytes: number,
): Promise<void> {
  const cutting = async (): Promise<void> => {
    const file = await world.outside.files.open(path, 'write')
    await file.truncate(sizeBytes)
    await file.datasync()
    await file.close()
  }
  await world.finish(cutting())
}

/** Undoes `cutFile`. */
export async function restoreFile(world: SimulatedWorld, target: DamageTarget): Promise<void> {
  const { path, content, writtenBytes } = target
  const restoring = async (): Promise<void> => {
    const file = await world.outside.files.open(path, 'write')
    await file.write([content.subarray(0, writtenBytes)], 0)
    await file.truncate(content.length)
    await file.close()
  }
  await world.finish(restoring())
}

/** What `verifyStore` finds on the world's disk. */
export async function findingsOn(world: SimulatedWorld): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const onFinding = (finding: Finding): void => {
    findings.push(finding)
  }
  await world.finish(verifyStore({ directory: '/data', onFinding }, world.outside))
  return findings
}

/** Whether one of the findings names the file and a range that holds the position. */
export function namesPlace(
  findings: readonly Finding[],
  place: { readonly path: string; readonly position: number },
): boolean {
  return findings.some(({ file, fromPosition, toPosition }) => {
    return file === place.path && fromPosition <= place.position && place.position < toPosition
  })
}

/** Damage that `verifyStore` does not find in its place, of so many single bits and cut tails. */
export async function unfoundDamage(
  random: SeededRandom,
  counts: { readonly flips: number; readonly cuts: number },
): Promise<readonly string[]> {
  const world = new SimulatedWorld({ seed: 1 })
  await makeStore(world)
  const targets = await damageTargets(world)
  const unfound: string[] = []
  for (let count = 0; count < counts.flips; count++) {
    const { target, position } = pickTarget(random, targets)
    const { path } = target
    const bit = random.below(8)
    world.disk.flipBit(path, position, bit)
    const findings = await findingsOn(world)
    if (!namesPlace(findings, { path, position })) unfound.push(`${path} ${position}/${bit}`)
    // Only where the bytes mean nothing may it be worth no more than a note.
    const isSlight = findings.every(({ kind }) => kind === 'note')
    const isUnused = findings.every(({ what }) => UNUSED.test(what))
    if (isSlight && !isUnused) unfound.push(`${path} ${position}/${bit}: a note`)
    world.disk.flipBit(path, position, bit)
  }
  for (let count = 0; count < counts.cuts; count++) {
    const { target, position } = pickTarget(random, targets)
    await cutFile(world, target.path, position)
    const findings = await findingsOn(world)
    const isNamed = namesPlace(findings, { path: target.path, position })
    if (!isNamed || findings.every(({ kind }) => kind === 'note')) {
      unfound.push(`${target.path} cut at ${position}`)
    }
    await restoreFile(world, target)
  }
  const left = await findingsOn(world)
  return [...unfound, ...left.map(finding => `left over: ${JSON.stringify(finding)}`)]
}

const LONG_MS = 120 * 86_400_000
const TIMER_HEADER_BYTES = 56
/**
 * Units of the delay levels hold the deliver times, in Apache's layout, which has no checksum: a
 * broker believes them. Only `verifyStore` finds them out.
 */
const LEVEL_QUEUE = /\/SCHEDULE_TOPIC_XXXX\//

/**
 * Starts the whole engine on a damaged store, lets all come due, and returns what is wrong then: a
 * message missing that was not hit, one that came twice, or a loss that the log does not tell.
 */
export async function startOnDamage(
  random: SeededRandom,
  kind: 'flip' | 'cut',
): Promise<readonly string[]> {
  const world = new SimulatedWorld({ seed: 1 })
  const expected = await makeStore(world)
  const all = await damageTargets(world)
  const targets = all.filter(({ path }) => kind === 'cut' || !LEVEL_QUEUE.test(path))
  const { target, position } = pickTarget(random, targets)
  const place = `${kind} ${target.path} ${position}`
  if (kind === 'cut') await cutFile(world, target.path, position)
  else world.disk.flipBit(target.path, position, random.below(8))
  const isFound = namesPlace(await findingsOn(world), { path: target.path, position })
  const lineCount = world.logLines.length
  world.stepClock(LONG_MS)
  const { counts, wronglyFound } = await servedAtLast(world)
  const missing = [...expected].filter(number => !counts.has(number))
  const to = kind === 'cut' ? target.content.length : position + 1
  const unhit = missing.filter(number => !isHit(target, { from: position, to }, number))
  const wrong = [...counts].filter(([number, count]) => count > 1 || !expected.has(number))
  const lines = world.logLines.slice(lineCount)
  const isTold = lines.some(({ level, message, fields }) => {
    if (level !== 'error' && level !== 'warn') return false
    // A unit that names a wrong place shows as damage of the log there.
    const isPlace = target.kind === 'queue' && message.startsWith('a record of the commit log')
    return isPlace || fields['file'] === target.path
  })
  // Its messages are delivered all the same, and not found by their keys.
  const isUnsearched = target.kind === 'index' && kind === 'cut'
  return [
    ...(isFound ? [] : [`${place}: not found`]),
    ...(unhit.length > 1 || (target.kind !== 'queue' && unhit.length > 0)
      ? [`${place}: missing ${unhit.join()}`]
      : []),
    ...wrong.map(([number, count]) => `${place}: ${number} came ${count} times`),
    ...wronglyFound.map(number => `${place}: a search for ${number} found another message`),
    ...((missing.length === 0 && !isUnsearched) || isTold
      ? []
      : [`${place}: the loss is not reported`]),
  ]
}

/** Lets all come due and searches for each message. */
async function servedAtLast(world: SimulatedWorld): Promise<{
  readonly counts: Map<number, number>
  readonly wronglyFound: readonly number[]
}> {
  const run = await EngineRun.start(world)
  await run.open(CLOSED_TOPIC)
  await world.runFor(60_000)
  const counts = await run.delivered(OPEN_TOPIC)
  for (const [number, count] of await run.delivered(CLOSED_TOPIC)) counts.set(number, count)
  const wronglyFound: number[] = []
  for (const number of counts.keys()) {
    const found = [
      ...(await run.found(OPEN_TOPIC, number)),
      ...(await run.found(CLOSED_TOPIC, number)),
    ]
    if (found.some(each => each !== number)) wronglyFound.push(number)
  }
  await run.stop()
  return { counts, wronglyFound }
}

/** Whether a record of the message, with its timer header, lies in the damaged range. */
function isHit(
  { kind, content }: DamageTarget,
  range: { readonly from: number; readonly to: number },
  number: number,
): boolean {
  if (kind === 'index') return false
  const headerBytes = kind === 'log' ? 0 : TIMER_HEADER_BYTES
  for (let at = 0; at + RECORD_SIZE_MIN_BYTES <= content.length; at++) {
    if (recordMagic(content, at) !== RECORD_MAGIC_V1) continue
    if (checkRecord(content, at, content.length).kind !== 'record') continue
    const isInRange = at - headerBytes < range.to && at + recordSize(content, at) > range.from
    const keys = findProperty(recordProperties(content, at), PROPERTY.KEYS)
    if (isInRange && Number(keys) === number) return true
  }
  return false
}

/** Why `verifyStore` refuses to begin. */
export async function refusalOf(world: SimulatedWorld, directory: string): Promise<string> {
  try {
    const verifying = verifyStore({ directory, onFinding: () => undefined }, world.outside)
    await world.finish(verifying)
    return 'none'
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}
