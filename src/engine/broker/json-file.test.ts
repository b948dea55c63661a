import { expect, test } from 'vitest'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { JsonFile } from './json-file.ts'
import { CONFIG_DIRECTORY, configWorld, fileJson, leaveFile } from './testing.ts'

function fileOf(world: SimulatedWorld, render = (): string => '{}'): JsonFile {
  const { files, log } = world.platform
  return new JsonFile({ files, log, directory: CONFIG_DIRECTORY, name: 'a.json' }, render)
}

test('a file that is not there holds nothing', async () => {
  const world = await configWorld()
  expect(await world.finish(fileOf(world).load())).toBeUndefined()
})

test('bare whole numbers and trailing blanks are read, as Apache writes them', async () => {
  const world = await configWorld()
  await leaveFile(world, 'a.json', '{\n\t"offsetTable":{"T@g":{0:12,1:7}}\n}\n')
  expect(await world.finish(fileOf(world).load())).toEqual({
    offsetTable: { 'T@g': { 0: 12, 1: 7 } },
  })
})

test.each([
  ['empty', ''],
  ['full of zeros', '\0\0\0'],
  ['cut short', '{"a":'],
  ['no object', '[1]'],
])('a file that is %s gives way to the backup that Apache left', async (_, content) => {
  const world = await configWorld()
  await leaveFile(world, 'a.json', content)
  await leaveFile(world, 'a.json.bak', '{"a":1}')
  expect(await world.finish(fileOf(world).load())).toEqual({ a: 1 })
})

test('a damaged file without a sound backup is an error that names it', async () => {
  const world = await configWorld()
  await leaveFile(world, 'a.json', '{"a":')
  await leaveFile(world, 'a.json.bak', '{"a":')
  await expect(world.finish(fileOf(world).load())).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { path: '/data/config/a.json' },
  })
})

test('an empty file without a backup holds nothing, as after the first start of Apache', async () => {
  const world = await configWorld()
  await leaveFile(world, 'a.json', '')
  expect(await world.finish(fileOf(world).load())).toBeUndefined()
})

test('saves during a write share one further write, which holds the newest state', async () => {
  const world = await configWorld()
  let state = 0
  let writes = 0
  const file = fileOf(world, () => {
    writes++
    return JSON.stringify({ state })
  })
  const saves: Promise<void>[] = []
  for (state = 1; state <= 20; state++) saves.push(file.save())
  state = 20
  await world.finish(Promise.all(saves))
  expect(writes).toBe(2)
  expect(await fileJson(world, 'a.json')).toEqual({ state: 20 })
})

test('a failed write rejects its own savers and leaves later ones alone', async () => {
  const world = await configWorld()
  const file = fileOf(world, () => '{"a":2}')
  world.faults.failNext({ call: 'rename', error: 'STORE_FULL' })
  const first = file.save()
  const second = file.save()
  await expect(world.finish(first)).rejects.toMatchObject({ code: 'STORE_FULL' })
  await world.finish(second)
  expect(await fileJson(world, 'a.json')).toEqual({ a: 2 })
})

test.each([
  ['missing', undefined, true],
  ['missing', undefined, false],
  ['empty', '', false],
  ['empty', '\0\0', false],
])('a file that is %s is told of when it is missed', async (found, content, isExpected) => {
  const world = await configWorld()
  if (content !== undefined) await leaveFile(world, 'a.json', content)
  const { files, log } = world.platform
  const missed = { meaning: 'what follows', isExpected }
  const at = { files, log, directory: CONFIG_DIRECTORY, name: 'a.json', missed }
  expect(await world.finish(new JsonFile(at, () => '{}').load())).toBeUndefined()
  const lines = world.logLines.map(({ level, fields }) => ({ level, fields }))
  const line = {
    level: 'warn',
    fields: { path: '/data/config/a.json', found, meaning: 'what follows' },
  }
  expect(lines).toEqual(found === 'missing' && !isExpected ? [] : [line])
})

test('what a start adds by itself may wait for room on the disk', async () => {
  const world = await configWorld()
  const file = fileOf(world, () => '{"a":2}')
  world.faults.failNext({ call: 'write', error: 'STORE_FULL' })
  await world.finish(file.saveIfRoom())
  expect(world.logLines.map(({ level }) => level)).toEqual(['warn'])
  expect(await fileJson(world, 'a.json')).toBeUndefined()
  await world.finish(file.save())
  expect(await fileJson(world, 'a.json')).toEqual({ a: 2 })
  world.faults.failNext({ call: 'write', error: 'STORE_FAILED' })
  await expect(world.finish(file.saveIfRoom())).rejects.toMatchObject({ code: 'STORE_FAILED' })
})
