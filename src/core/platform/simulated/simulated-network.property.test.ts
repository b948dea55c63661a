import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Connection } from '../index.ts'
import { SimulatedWorld } from './index.ts'

interface Heard {
  readonly chunks: Buffer[]
  drainCount: number
  closeCount: number
}

function listenTo(connection: Connection): Heard {
  const heard: Heard = { chunks: [], drainCount: 0, closeCount: 0 }
  connection.start({
    onData: chunk => heard.chunks.push(Buffer.from(chunk)),
    onDrain: () => {
      heard.drainCount++
    },
    onClose: () => {
      heard.closeCount++
    },
  })
  return heard
}

const side = fc.nat(1)
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      side,
      length: fc.integer({ max: 300_000, min: 1 }),
    }),
    fc.record({ kind: fc.constant('pause' as const), side }),
    fc.record({ kind: fc.constant('resume' as const), side }),
    fc.record({ kind: fc.constant('wait' as const), durationMs: fc.nat(3) }),
  ),
  { maxLength: 20 },
)

it('loses, doubles and reorders no byte, whoever pauses and whoever ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), steps, side, async (seed, script, ender) => {
      const world = new SimulatedWorld({ seed })
      const address = { host: '127.0.0.1', port: 10_911, timeoutMs: 1_000 }
      const accepted: Connection[] = []
      const listening = world.platform.network.listen(address, each => accepted.push(each))
      await world.finish(listening)
      const client = await world.finish(world.outside.network.connect(address))
      await world.run(() => accepted.length > 0)
      const ends = [client, ...accepted]
      const heard = ends.map(listenTo)
      const sent: Buffer[][] = [[], []]
      let fill = 0
      for (const step of script) {
        if (step.kind === 'wait') await world.runFor(step.durationMs)
        else if (step.kind === 'pause') ends[step.side]?.pauseReading()
        else if (step.kind === 'resume') ends[step.side]?.resumeReading()
        else {
          const bytes = Buffer.alloc(step.length, ++fill)
          sent[step.side]?.push(bytes)
          ends[step.side]?.write(bytes)
        }
      }
      for (const end of ends) end.resumeReading()
      await world.run(() => ends.every(({ unsentBytes }) => unsentBytes === 0))
      await world.runFor(100)
      ends[ender]?.end()
      await world.runFor(1_000)
      for (const [index, each] of heard.entries()) {
        const expected = Buffer.concat(sent[1 - index] ?? [])
        expect(Buffer.concat(each.chunks).equals(expected)).toBe(true)
        expect(each.closeCount).toBe(1)
      }
      expect(world.network.openCount).toBe(0)
    }),
    { numRuns: 100 },
  )
})

it('calls back once all is handed over whenever something was left unsent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 600_000 }), async (seed, length) => {
      const world = new SimulatedWorld({ seed })
      const address = { host: '127.0.0.1', port: 10_911, timeoutMs: 1_000 }
      const listening = world.platform.network.listen(address, each => void listenTo(each))
      await world.finish(listening)
      const client = await world.finish(world.outside.network.connect(address))
      const heard = listenTo(client)
      client.write(Buffer.alloc(length))
      const owedCount = client.unsentBytes > 0 ? 1 : 0
      await world.runFor(1_000)
      expect(client.unsentBytes).toBe(0)
      expect(heard.drainCount).toBe(owedCount)
    }),
    { numRuns: 100 },
  )
})
