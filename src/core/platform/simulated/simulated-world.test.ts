import { describe, expect, it } from 'vitest'
import { InvariantError } from '../../base/index.ts'
import type { Connection, File, Files } from '../index.ts'
import { readWholeFile, replaceFile } from '../index.ts'
import { SimulatedWorld } from './index.ts'

async function openIn(world: SimulatedWorld, files: Files = world.platform.files): Promise<File> {
  await world.finish(files.makeDirectory('/data'))
  const file = await world.finish(files.open('/data/a', 'write'))
  await world.finish(files.syncDirectory('/'))
  await world.finish(files.syncDirectory('/data'))
  return file
}

async function contentOf(world: SimulatedWorld): Promise<string | undefined> {
  const content = await world.finish(readWholeFile(world.outside.files, '/data/a'))
  return content?.toString()
}

describe('a dead process', () => {
  it('neither acts nor hears of what it asked for', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const { files, log } = world.platform
    const file = await openIn(world)
    let settledCount = 0
    const count = (): void => {
      settledCount++
    }
    world.kill()
    for (const call of [file.write([Buffer.from('x')], 0), file.close(), files.remove('/data/a')]) {
      call.then(count, count)
    }
    log.info('from the grave')
    expect(await world.run(() => false)).toBe(false)
    expect(settledCount).toBe(0)
    expect(await contentOf(world)).toBe('')
    expect(world.logLines).toEqual([])
  })

  it('frees its locks and its ports', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const address = { host: '127.0.0.1', port: 10_911 }
    for (let round = 0; round < 3; round++) {
      const { files, network } = world.platform
      await world.finish(files.lock('/data'))
      const second = world.finish(world.outside.files.lock('/data'))
      await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' })
      await world.finish(network.listen(address, () => undefined))
      if (round === 0) world.kill()
      else if (round === 1) world.crash()
      else world.exit()
    }
    expect(world.faults.counts()).toMatchObject({ kill: 1, powerCut: 1 })
  })

  it('leaves its connections to close at the other side', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const address = { host: '127.0.0.1', port: 10_911, timeoutMs: 1_000 }
    const accepted: Connection[] = []
    await world.finish(world.platform.network.listen(address, each => accepted.push(each)))
    const client = await world.finish(world.outside.network.connect(address))
    const heard: string[] = []
    client.start({
      onData: chunk => heard.push(chunk.toString()),
      onDrain: () => undefined,
      onClose: () => heard.push('close'),
    })
    await world.runFor(10)
    expect(accepted).toHaveLength(1)
    world.kill()
    accepted[0]?.write(Buffer.from('x'))
    await world.runFor(10)
    expect(heard).toEqual(['close'])
    expect(world.network.openCount).toBe(0)
    const again = world.finish(world.outside.network.connect(address))
    await expect(again).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })

  it('may have done all, nothing or a part of the write it was killed in', async () => {
    const seen = new Set<number>()
    for (let seed = 0; seed < 60; seed++) {
      const world = new SimulatedWorld({ seed })
      const file = await openIn(world)
      void file.write([Buffer.alloc(1_000, 'x')], 0)
      world.kill()
      const content = (await contentOf(world)) ?? ''
      expect(content).toBe('x'.repeat(content.length))
      seen.add(content.length)
    }
    expect(seen.has(0) && seen.has(1_000)).toBe(true)
    expect(seen.size).toBeGreaterThan(5)
  })
})

describe('the faults', () => {
  it('fail the calls that a test names, as often as it says', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    const file = await openIn(world)
    world.faults.failNext({ call: 'read', path: /other/, error: 'STORE_FAILED' })
    world.faults.failNext({ call: 'datasync', path: /\/a$/, error: 'STORE_FAILED', count: 2 })
    const outcomes: string[] = []
    for (let round = 0; round < 3; round++) {
      const sync = file.datasync().then(
        () => 'synced',
        (error: unknown) => String(error),
      )
      outcomes.push((await world.finish(sync)).slice(0, 11))
    }
    expect(outcomes).toEqual(['BrokerError', 'BrokerError', 'synced'])
    await world.finish(file.read(Buffer.alloc(1), 0))
    expect(world.faults.counts()).toMatchObject({ failedDatasync: 2, failedRead: 0 })
  })

  it('lose, in some seeds, what was written before a sync failed, although a later succeeds', async () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 40; seed++) {
      const world = new SimulatedWorld({ seed })
      const file = await openIn(world)
      await world.finish(file.write([Buffer.from('x')], 0))
      world.faults.failNext({ call: 'datasync', error: 'STORE_FAILED' })
      await expect(world.finish(file.datasync())).rejects.toMatchObject({ code: 'STORE_FAILED' })
      await world.finish(file.datasync())
      expect(await contentOf(world)).toBe('x')
      world.crash()
      seen.add((await contentOf(world)) ?? 'missing')
    }
    expect([...seen].toSorted()).toEqual(['', 'x'])
  })

  it('fail calls by their rate', async () => {
    const world = new SimulatedWorld({ seed: 5 })
    const file = await openIn(world)
    world.faults.rates.calls.read = 0.3
    let failedCount = 0
    for (let round = 0; round < 200; round++) {
      const read = file.read(Buffer.alloc(1), 0).catch(() => -1)
      if ((await world.finish(read)) === -1) failedCount++
    }
    expect(failedCount).toBeGreaterThan(30)
    expect(failedCount).toBeLessThan(90)
    expect(world.faults.counts().failedRead).toBe(failedCount)
  })

  it('refuse what does not fit on the disk, until there is room again', async () => {
    const world = new SimulatedWorld({ seed: 6 })
    const file = await openIn(world)
    world.disk.capacityBytes = 3 * 4096
    await world.finish(file.write([Buffer.alloc(8_192, 1)], 0))
    const tooMuch = world.finish(file.write([Buffer.alloc(8_192, 2)], 8_192))
    await expect(tooMuch).rejects.toMatchObject({ code: 'STORE_FULL' })
    const { files } = world.platform
    expect(await world.finish(files.space('/data'))).toMatchObject({ freeBytes: 0 })
    // What is there already can be written again, and names take no room.
    await world.finish(file.write([Buffer.alloc(8_192, 3)], 0))
    world.disk.capacityBytes = 16 * 4096
    await world.finish(file.write([Buffer.alloc(8_192, 2)], 8_192))
    expect(await world.finish(files.sizeOf('/data/a'))).toBe(16_384)
    expect(world.faults.counts().diskFull).toBe(1)
  })

  it('take no room for holes: a gibibyte that was only extended is free', async () => {
    const world = new SimulatedWorld({ seed: 7 })
    const file = await openIn(world)
    world.disk.capacityBytes = 2 * 4096
    await world.finish(file.truncate(2 ** 30))
    await world.finish(file.write([Buffer.from('end')], 2 ** 30 - 3))
    expect(world.disk.usedBytes()).toBe(4096)
  })

  it('flip one bit, on the medium too', async () => {
    const world = new SimulatedWorld({ seed: 8 })
    const file = await openIn(world)
    await world.finish(file.write([Buffer.from('aaaa')], 0))
    await world.finish(file.datasync())
    world.disk.flipBit('/data/a', 2, 1)
    expect(await contentOf(world)).toBe('aaca')
    world.crash()
    expect(await contentOf(world)).toBe('aaca')
    const flipped = world.disk.flipRandomBit(/^\/data\//)
    expect(flipped?.path).toBe('/data/a')
    expect(await contentOf(world)).not.toBe('aaca')
    expect(world.disk.flipRandomBit(/nothing/)).toBeUndefined()
    expect(world.faults.counts().bitFlip).toBe(2)
  })

  it('lose synced data only when the sync is ignored on purpose', async () => {
    let lostCount = 0
    for (let seed = 0; seed < 40; seed++) {
      const world = new SimulatedWorld({ seed })
      const file = await openIn(world)
      world.faults.ignoreDatasync = seed % 2 === 1
      await world.finish(file.write([Buffer.from('x')], 0))
      await world.finish(file.datasync())
      world.crash()
      const lost = (await contentOf(world)) !== 'x'
      if (seed % 2 === 0) expect(lost).toBe(false)
      else if (lost) lostCount++
    }
    expect(lostCount).toBeGreaterThan(3)
  })

  it('do not touch the process outside', async () => {
    const world = new SimulatedWorld({ seed: 9 })
    world.faults.rates.calls.write = 1
    world.faults.rates.calls.open = 1
    await world.finish(world.outside.files.makeDirectory('/data'))
    await world.finish(replaceFile(world.outside.files, '/data/a', Buffer.from('x')))
    expect(await contentOf(world)).toBe('x')
  })

  it('cut connections, of which both sides hear once', async () => {
    const world = new SimulatedWorld({ seed: 10 })
    expect(world.network.cutOne()).toBe(false)
    const address = { host: '127.0.0.1', port: 10_911, timeoutMs: 1_000 }
    const heard: string[] = []
    const startAs = (name: string, connection: Connection): void => {
      connection.start({
        onData: () => heard.push(`${name} data`),
        onDrain: () => undefined,
        onClose: () => heard.push(`${name} close`),
      })
    }
    await world.finish(
      world.platform.network.listen(address, connection => {
        startAs('server', connection)
      }),
    )
    startAs('client', await world.finish(world.outside.network.connect(address)))
    await world.runFor(10)
    expect(world.network.cutOne()).toBe(true)
    await world.runFor(10)
    expect(heard.toSorted()).toEqual(['client close', 'server close'])
    expect(world.faults.counts().connectionCut).toBe(1)
  })
})

describe('a world', () => {
  it('stops a caller that changes bytes while they are written', async () => {
    const world = new SimulatedWorld({ seed: 11 })
    const file = await openIn(world)
    const bytes = Buffer.from('before')
    void file.write([bytes], 0)
    bytes.fill(0)
    await expect(world.run(() => false)).rejects.toBeInstanceOf(InvariantError)
  })

  it('stops a caller that closes a file in use', async () => {
    const world = new SimulatedWorld({ seed: 12 })
    const file = await openIn(world)
    const writing = file.write([Buffer.from('x')], 0)
    await expect(file.close()).rejects.toBeInstanceOf(InvariantError)
    await world.finish(writing)
    await world.finish(file.close())
  })

  it('does not wait for ever for a promise, whether events are left or not', async () => {
    const world = new SimulatedWorld({ seed: 13 })
    const endless = new Promise<void>(() => undefined)
    await expect(world.finish(endless)).rejects.toBeInstanceOf(InvariantError)
    const { timers } = world.platform
    const beat = (): void => {
      timers.after(10, beat)
    }
    beat()
    await expect(world.finish(endless, 1_000)).rejects.toBeInstanceOf(InvariantError)
    expect(world.uptimeMs).toBeLessThanOrEqual(1_000)
  })

  it('lets time pass in which nothing happens', async () => {
    const world = new SimulatedWorld({ seed: 14, startTimeMs: 1_000 })
    await world.runFor(500)
    expect(world.uptimeMs).toBe(500)
    expect(world.platform.clock.timeMs()).toBe(1_500)
    world.stepClock(-700)
    expect(world.platform.clock.timeMs()).toBe(800)
  })

  it('keeps the lines of the log, with their errors', () => {
    const world = new SimulatedWorld({ seed: 15, startTimeMs: 5 })
    const cause = new Error('disk')
    world.platform.log.warn('slow', { tookMs: 3 })
    world.platform.log.error('failed', cause)
    expect(world.logLines).toEqual([
      { timeMs: 5, level: 'warn', message: 'slow', fields: { tookMs: 3 } },
      { timeMs: 5, level: 'error', message: 'failed', fields: {}, error: cause },
    ])
  })
})
