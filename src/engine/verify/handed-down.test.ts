import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { DIRECTORY, TestBroker, timerFiles } from '../timer/testing.ts'
import { type Finding, verifyStore } from './index.ts'

const DAY_MS = 86_400_000

test('a chunk is looked for where it lies, although it belongs to a finer partition by now', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { clock } = world.platform
  let broker = await TestBroker.open(world)
  const deliverTimeMs = Math.ceil(clock.timeMs() / DAY_MS + 100) * DAY_MS + 60_000
  for (let key = 0; key < 400; key++) {
    broker.accept({ key, deliverTimeMs, bodyBytes: 600 })
    await world.runFor(1)
  }
  await broker.stop()
  const [file = '', ...others] = await timerFiles(world)
  expect(others).toEqual([])
  expect(file).toMatch(/\/30d\//)
  world.stepClock(deliverTimeMs - 30_000 - clock.timeMs())
  broker = await TestBroker.open(world)
  await world.runFor(5_000)
  await broker.stop()
  expect(JSON.stringify(broker.store.section('ladder'))).not.toContain('"rung":"1min"')
  broker = await TestBroker.open(world)
  expect(JSON.stringify(broker.store.section('ladder'))).toContain('"rung":"1min"')
  await broker.stop()
  expect(await timerFiles(world)).toEqual([file])
  const findings: Finding[] = []
  const onFinding = (finding: Finding): void => void findings.push(finding)
  const options = { directory: DIRECTORY, onFinding }
  const summary = await world.finish(verifyStore(options, world.platform))
  expect(findings).toEqual([])
  expect([summary.chunkCount, summary.waitingCount]).toEqual([1, 400])
  // Only what the manifest says is right.
  await world.finish(world.outside.files.rename(file, file.replace('/30d/', '/1min/')))
  await world.finish(verifyStore(options, world.platform))
  const kinds = findings.map(finding => [finding.kind, finding.file])
  expect(kinds).toContainEqual(['damage', file])
})
