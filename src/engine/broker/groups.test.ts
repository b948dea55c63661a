import { expect, test } from 'vitest'
import { defaultSubscriptionGroupConfig } from '../../model/wire/index.ts'
import { configWorld, fileJson, leaveFile, openGroups } from './testing.ts'

test('a group made on use has the defaults of RocketMQ and survives a power cut once durable', async () => {
  const world = await configWorld()
  const groups = await openGroups(world)
  const group = groups.createOnUse('billing')
  expect(group).toMatchObject({ consumeEnable: true, retryQueueCount: 1, retryCountMax: 16 })
  expect(groups.createOnUse('billing')).toBe(group)
  await world.finish(group.durable ?? Promise.reject(new Error('it cannot be durable yet')))
  expect(group.durable).toBeUndefined()
  world.crash()
  expect((await openGroups(world)).find('billing')).toMatchObject({ retryCountMax: 16 })
})

test('the groups of the system are there, also without making on use', async () => {
  const groups = await openGroups(await configWorld(), false)
  expect(groups.get('TOOLS_CONSUMER').consumeEnable).toBe(true)
  expect(() => groups.createOnUse('billing')).toThrow(
    expect.objectContaining({ code: 'GROUP_NOT_FOUND' }),
  )
})

test.each(['', 'a b', 'a@b', 'x'.repeat(121)])('the name %j makes no group', async name => {
  const groups = await openGroups(await configWorld())
  expect(() => groups.createOnUse(name)).toThrow(
    expect.objectContaining({ code: 'GROUP_NAME_INVALID' }),
  )
})

test('a group whose first write fails is taken back', async () => {
  const world = await configWorld()
  const groups = await openGroups(world)
  world.faults.failNext({ call: 'datasync', path: /subscriptionGroup/, error: 'STORE_FAILED' })
  const { durable } = groups.createOnUse('billing')
  await expect(world.finish(durable ?? Promise.resolve())).rejects.toMatchObject({
    code: 'STORE_FAILED',
  })
  expect(groups.find('billing')).toBeUndefined()
})

test('an update replaces the settings of the group that others hold', async () => {
  const world = await configWorld()
  const groups = await openGroups(world)
  const group = groups.createOnUse('billing')
  const config = defaultSubscriptionGroupConfig('billing')
  await world.finish(
    groups.update({ ...config, retryMaxTimes: 3, retryQueueNums: 2, consumeEnable: false }),
  )
  expect(group).toMatchObject({ retryCountMax: 3, retryQueueCount: 2, consumeEnable: false })
  world.crash()
  expect((await openGroups(world)).get('billing')).toMatchObject({ retryCountMax: 3 })
})

test.each([{ retryQueueNums: -1 }, { retryQueueNums: 257 }, { retryMaxTimes: -1 }])(
  'an update to %j is refused',
  async changes => {
    const groups = await openGroups(await configWorld())
    const update = groups.update({ ...defaultSubscriptionGroupConfig('billing'), ...changes })
    await expect(update).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
    expect(groups.find('billing')).toBeUndefined()
  },
)

test('a file of Apache is read, and what we do not know of it is kept', async () => {
  const world = await configWorld()
  const apache = {
    dataVersion: { counter: 7, stateVersion: 0, timestamp: 1_700_000_000_000 },
    forbiddenTable: { cg: { T: 4 } },
    subscriptionGroupTable: {
      cg: { groupName: 'cg', retryMaxTimes: 2, retryQueueNums: 0, somethingNew: { a: 1 } },
    },
  }
  await leaveFile(world, 'subscriptionGroup.json', JSON.stringify(apache))
  const groups = await openGroups(world)
  expect(groups.get('cg')).toMatchObject({ retryCountMax: 2, retryQueueCount: 0 })
  await world.finish(groups.update({ ...defaultSubscriptionGroupConfig('cg'), retryMaxTimes: 5 }))
  expect(await fileJson(world, 'subscriptionGroup.json')).toMatchObject({
    forbiddenTable: { cg: { T: 4 } },
    subscriptionGroupTable: { cg: { retryMaxTimes: 5, somethingNew: { a: 1 } } },
  })
})

test('an update that cannot be written changes nothing', async () => {
  const world = await configWorld()
  const groups = await openGroups(world)
  const config = defaultSubscriptionGroupConfig('billing')
  const group = await world.finish(groups.update({ ...config, retryMaxTimes: 3 }))
  world.faults.failNext({ call: 'datasync', path: /subscriptionGroup/, error: 'STORE_FAILED' })
  const update = groups.update({ ...config, retryMaxTimes: 5 })
  await expect(world.finish(update)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(group).toMatchObject({ retryCountMax: 3, config: { retryMaxTimes: 3 } })
  world.faults.failNext({
    call: 'datasync',
    path: /subscriptionGroup/,
    error: 'STORE_FAILED',
    count: 2,
  })
  const created = groups.update(defaultSubscriptionGroupConfig('new'))
  await expect(world.finish(created)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(groups.find('new')).toBeUndefined()
})
