import { expect, it } from 'vitest'
import { readWholeFile, replaceFile } from './index.ts'
import { SimulatedWorld } from './simulated/index.ts'

it('makes the content durable before the name, and the name before it returns', async () => {
  const world = new SimulatedWorld({ seed: 5 })
  await world.finish(world.outside.files.makeDirectory('/data'))
  const calls: string[] = []
  world.faults.onCall = ({ call, path }) => calls.push(`${call} ${path}`)
  await world.finish(replaceFile(world.platform.files, '/data/a', Buffer.from('content')))
  expect(calls).toEqual([
    'open /data/a.tmp',
    'truncate /data/a.tmp',
    'write /data/a.tmp',
    'datasync /data/a.tmp',
    'close /data/a.tmp',
    'rename /data/a.tmp',
    'syncDirectory /data',
  ])
})

it('keeps the old content when any of its calls fails', async () => {
  for (const call of ['open', 'truncate', 'write', 'datasync', 'close', 'rename'] as const) {
    const world = new SimulatedWorld({ seed: 5 })
    const { files } = world.platform
    await world.finish(files.makeDirectory('/data'))
    await world.finish(replaceFile(files, '/data/a', Buffer.from('old')))
    world.faults.failNext({ call, error: 'STORE_FULL' })
    const replacing = world.finish(replaceFile(files, '/data/a', Buffer.from('new')))
    await expect(replacing).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect((await world.finish(readWholeFile(files, '/data/a')))?.toString()).toBe('old')
    await world.finish(replaceFile(files, '/data/a', Buffer.from('newer')))
    expect((await world.finish(readWholeFile(files, '/data/a')))?.toString()).toBe('newer')
  }
})
