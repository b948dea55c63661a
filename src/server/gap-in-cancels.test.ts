import { expect, test } from 'vitest'
import { readWholeFile } from '../core/platform/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { served } from './testing/served.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const LOG = '/data/commitlog/00000000000000000000'

test('a cancel whose record is damaged is not taken for one of the first message of the log', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { client: first } = await served(world)
  const handles: string[] = []
  for (const delayMs of [2 * SECOND_MS, HOUR_MS, HOUR_MS, HOUR_MS]) {
    const { recallHandle = '' } = await world.finish(
      first.send({ topic: 'orders', delayMs, body: 'x' }),
    )
    handles.push(recallHandle)
  }
  const [delivered = '', ...cancelled] = handles
  for (const recallHandle of cancelled) {
    await world.finish(first.recall({ topic: 'orders', recallHandle }))
  }
  world.crash()
  const log = (await world.finish(readWholeFile(world.outside.files, LOG))) ?? Buffer.alloc(0)
  const second = log.indexOf('ORRERY_CANCELS', log.indexOf('ORRERY_CANCELS') + 1)
  world.disk.flipBit(LOG, second, 0)
  const { client } = await served(world)
  await world.runFor(5 * SECOND_MS)
  const recalled = client.recall({ topic: 'orders', recallHandle: delivered })
  expect(await world.finish(recalled)).toBe('too-late')
})
