import { describe, expect, test } from 'vitest'
import { optionSpec } from '../../core/config/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { RECORD_BYTES_MAX } from './record-limit.ts'
import { flushed, messageOf, missing, send, startStore } from './testing.ts'

const LARGE = 'x'.repeat(12_000)
const LOWERED = { recordBytesMax: 4 * 1024 }

describe('a limit for new messages that was lowered', () => {
  test.each([
    ['a stop', 'in between'],
    ['a stop', 'last'],
    ['a kill', 'in between'],
    ['a kill', 'last'],
  ])(
    'leaves larger ones that were accepted readable, after %s, %s in the log',
    async (end, place) => {
      const world = new SimulatedWorld({ seed: 1 })
      let store = await startStore(world)
      const bodies = place === 'last' ? ['small', LARGE] : ['small', LARGE, 'after it']
      const sent = bodies.map(body => send(world, store, { body }))
      await flushed(world, store)
      if (end === 'a stop') {
        await world.finish(store.stop())
        world.exit()
      } else world.kill()
      store = await startStore(world, LOWERED)
      expect(store.queue('TopicTest', 0).maxOffset).toBe(bodies.length)
      expect(await missing(world, store, sent)).toEqual([])
      const offset = sent[1]?.commitLogOffset ?? 0
      expect(await world.finish(store.readRecord(offset))).toBeDefined()
      expect(world.logLines.filter(({ level }) => level === 'error')).toEqual([])
    },
  )

  test('refuses larger new messages, and takes what is due', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const store = await startStore(world, LOWERED)
    expect(() => send(world, store, { body: LARGE })).toThrow('maxMessageSize')
    const queue = store.queue('TopicTest', 0)
    for (let round = 0; round < 20; round++) {
      store.appendDue(messageOf('TopicTest', LARGE), queue, 0, 1)
      await flushed(world, store)
    }
    const expected = Array.from({ length: 20 }, (_, queueOffset) => ({
      topic: 'TopicTest',
      queueId: 0,
      queueOffset,
      body: LARGE,
      commitLogOffset: 0,
    }))
    expect(await missing(world, store, expected)).toEqual([])
  })

  test('says once which option lets a due message in that the memory does not hold', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const store = await startStore(world, { ...LOWERED, cacheBytes: 16 * 1024 })
    const queue = store.queue('TopicTest', 0)
    for (let round = 0; round < 2; round++) {
      expect(() => store.appendDue(messageOf('TopicTest', LARGE), queue, 0, 1)).toThrow(
        expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }),
      )
    }
    const errors = world.logLines.filter(({ level }) => level === 'error')
    expect(errors).toHaveLength(1)
    expect(String(errors[0]?.fields['hint'])).toContain('log.cacheBytes is 24')
  })
})

test('the largest record holds the greatest body that the option takes', () => {
  const spec = optionSpec('maxMessageSize')
  expect(spec.kind).toBe('bytes')
  expect(RECORD_BYTES_MAX).toBe(('max' in spec ? spec.max : 0) + 128 * 1024)
})
