import { describe, expect, test } from 'vitest'
import { readWholeFile, replaceFile } from '../../core/platform/index.ts'
import { type ObservedCall, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { decodeRecord } from '../../model/message/index.ts'
import { delayOffsetPath } from './apache-files.ts'
import { ManifestFile } from './manifest.ts'
import { Store } from './store.ts'
import {
  checkpointed,
  flushed,
  messageOf,
  messagesOf,
  missing,
  openStore,
  readAll,
  rejectionOf,
  send,
  type Sent,
  STORE_OPTIONS,
  startStore,
} from './testing.ts'

const { directory } = STORE_OPTIONS

function sendMany(world: SimulatedWorld, store: Store, count: number): Sent[] {
  return Array.from({ length: count }, (_, index) =>
    send(world, store, { body: `message ${index}` }),
  )
}

/** A participant that notes what it is asked, and whose state is a number. */
function participantOf(notes: string[]): Parameters<Store['join']>[0] {
  const note = (text: string): Promise<void> => {
    notes.push(text)
    return Promise.resolve()
  }
  return {
    participant: {
      name: 'noted',
      prepare: () => note('prepare'),
      snapshot: appliedOffset => {
        notes.push('snapshot')
        return { appliedOffset }
      },
      write: () => note('write'),
      relieve: () => Promise.resolve(),
      committed: () => note('committed'),
    },
  }
}

describe('a store', () => {
  test('makes nothing visible before it is durable', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const store = await startStore(world)
    send(world, store, { body: 'first' })
    const queue = store.queue('TopicTest', 0)
    const calls: ObservedCall[] = []
    world.faults.onCall = call => calls.push(call)
    const isDone = (): boolean => queue.maxOffset > 0
    await world.run(() => calls.some(({ call }) => call === 'datasync') || isDone())
    expect(queue.maxOffset).toBe(0)
    expect(store.appliedOffset).toBe(0)
    await world.run(isDone)
    expect(await readAll(world, store)).toEqual(new Map([[0, 'first']]))
    world.crash()
    const next = await startStore(world)
    expect(await readAll(world, next)).toEqual(new Map([[0, 'first']]))
  })

  test('reads the newest messages from memory and older ones from disk', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const store = await startStore(world)
    const sent: Sent[] = []
    for (let round = 0; round < 40; round++) {
      sent.push(send(world, store, { body: `${round} ${'y'.repeat(4_000)}` }))
      await flushed(world, store)
    }
    const queue = store.queue('TopicTest', 0)
    const newest = { fromOffset: 38, countMax: 2, bytesMax: 100_000, accepts: undefined }
    const read = store.readQueue(queue, newest)
    expect(read).not.toBeInstanceOf(Promise)
    expect(messagesOf(await read).map(({ queueOffset }) => queueOffset)).toEqual([38, 39])
    expect(store.readQueue(queue, { ...newest, fromOffset: 0 })).toBeInstanceOf(Promise)
    expect(await missing(world, store, sent)).toEqual([])
  })

  test('keeps what is in memory whole when a message is refused', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const store = await startStore(world, {
      recordBytesMax: 128 * 1024,
      cacheBytes: 512 * 1024,
      segmentBytes: 4 * 1024 * 1024,
      unappliedBytesMax: 64 * 1024,
    })
    const sent: Sent[] = []
    for (let round = 0; store.endOffset < 900_000; round++) {
      sent.push(send(world, store, { body: `${round} ${'z'.repeat(5_000)}` }))
      if (store.congested) await flushed(world, store)
    }
    await flushed(world, store)
    const refused = messageOf('TopicTest', 'body', `A\u0001${'ä'.repeat(16_400)}`)
    const queue = store.queue('TopicTest', 0)
    const { endOffset } = store
    expect(() => store.append(refused, queue, 0, 1)).toThrow('properties')
    expect(store.endOffset).toBe(endOffset)
    expect(queue.isInTail(0)).toBe(true)
    const held = sent.filter(({ commitLogOffset }) => store.log.isInMemory(commitLogOffset))
    expect(held.length).toBeGreaterThan(50)
    for (const { commitLogOffset, body } of held) {
      const position = store.log.memoryPosition(commitLogOffset)
      expect(decodeRecord(store.log.memory, position).body.toString()).toBe(body)
    }
    expect(await missing(world, store, sent)).toEqual([])
    sent.push(send(world, store, { body: 'next' }))
    await flushed(world, store)
    expect(await missing(world, store, sent)).toEqual([])
  })

  test('passes over a record that went bad on disk, names file and range, serves the rest', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    let store = await startStore(world)
    const sent = sendMany(world, store, 20)
    await flushed(world, store)
    await world.finish(store.stop())
    world.exit()
    const bad = sent[7]?.commitLogOffset ?? 0
    world.disk.flipBit(`${directory}/commitlog/${'0'.repeat(20)}`, bad + 90, 1)
    store = await startStore(world)
    const found = await readAll(world, store)
    expect([...found.keys()]).toEqual(sent.map(({ queueOffset }) => queueOffset).toSpliced(7, 1))
    const line = world.logLines.find(({ level }) => level === 'error')
    expect(line?.fields).toMatchObject({ fromOffset: bad, toOffset: sent[8]?.commitLogOffset })
    expect(await world.finish(store.readRecord(bad))).toBeUndefined()
  })

  test('takes nothing more after a failed sync, and says so to those who wait', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const store = await startStore(world)
    const failures: string[] = []
    store.onFailed(error => failures.push(error.code))
    send(world, store, { body: 'lost' })
    world.faults.failNext({ call: 'datasync', error: 'STORE_FAILED' })
    expect(await rejectionOf(world.finish(store.whenApplied(0)))).toBe('STORE_FAILED')
    expect(failures).toEqual(['STORE_FAILED'])
    expect(() => send(world, store, { body: 'more' })).toThrow('disk failed')
    expect(store.queue('TopicTest', 0).maxOffset).toBe(0)
    await world.finish(store.stop())
  })

  test('refuses a folder that another process has open', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    await startStore(world)
    expect(await rejectionOf(world.finish(openStore(world)))).toBe('STORE_LOCKED')
  })

  test('refuses to start when the end of the log is missing', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const store = await startStore(world)
    sendMany(world, store, 20)
    await flushed(world, store)
    await world.finish(store.stop())
    world.exit()
    await world.finish(world.outside.files.remove(`${directory}/commitlog/${'0'.repeat(20)}`))
    expect(await rejectionOf(world.finish(openStore(world)))).toBe('STORE_DAMAGED')
  })
})

describe('a full disk', () => {
  test('refuses new messages, and takes them and those under way when there is room again', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const store = await startStore(world)
    const sent = sendMany(world, store, 3)
    await flushed(world, store)
    world.disk.capacityBytes = world.disk.usedBytes()
    sent.push(send(world, store, { body: 'w'.repeat(9_000) }))
    await world.runFor(3_000)
    expect(() => send(world, store, { body: 'refused' })).toThrow('no room')
    expect(store.queue('TopicTest', 0).maxOffset).toBe(3)
    world.disk.capacityBytes = Number.POSITIVE_INFINITY
    await flushed(world, store)
    sent.push(send(world, store, { body: 'taken' }))
    await flushed(world, store)
    expect(await missing(world, store, sent)).toEqual([])
  })

  test.each(['sync', 'async'] as const)('does not keep a store from stopping (%s)', async flush => {
    const world = new SimulatedWorld({ seed: 3 })
    const store = await startStore(world, { flush })
    const sent = sendMany(world, store, 3)
    await flushed(world, store)
    world.disk.capacityBytes = world.disk.usedBytes()
    send(world, store, { body: 'v'.repeat(9_000) })
    const waiting = rejectionOf(store.whenApplied(store.endOffset - 1))
    await world.runFor(700)
    await world.finish(store.stop(), 3_000)
    expect(await waiting).toBe('STORE_FULL')
    // Nothing is left that would keep the process alive.
    await world.run(() => false)
    expect(world.uptimeMs).toBeLessThan(10_000)
    world.exit()
    world.disk.capacityBytes = Number.POSITIVE_INFINITY
    expect(await missing(world, await startStore(world, { flush }), sent)).toEqual([])
  })

  test('that fills up while the store stops does not hold it up', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const store = await startStore(world)
    send(world, store, { body: 'u'.repeat(9_000) })
    world.disk.capacityBytes = world.disk.usedBytes()
    await world.finish(store.stop(), 3_000)
    world.exit()
  })

  test('lets participants go on when a checkpoint finds no room, and tries it again', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const notes: string[] = []
    const store = await world.finish(openWith(world, notes))
    await world.finish(store.start())
    sendMany(world, store, 3)
    await flushed(world, store)
    world.faults.failNext({ call: 'write', path: /consumequeue/, error: 'STORE_FULL' })
    await world.runFor(5_500)
    expect(notes).toEqual(['prepare', 'snapshot'])
    expect(store.checkpointOffset).toBe(0)
    await checkpointed(world, store)
    expect(notes.slice(2, 6)).toEqual(['prepare', 'snapshot', 'write', 'committed'])
    expect(store.checkpointOffset).toBe(store.endOffset)
    expect(store.failure).toBeUndefined()
  })

  test('that is nearly full refuses new messages and takes due ones', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    await world.finish(openStore(world).then(store => store.abandon()))
    world.exit()
    world.disk.capacityBytes = world.disk.usedBytes() + 100_000
    const store = await startStore(world, { diskFreeBytesMin: 200_000 })
    expect(() => send(world, store, { body: 'new' })).toThrow('no room')
    store.appendDue(messageOf('TopicTest', 'due'), store.queue('TopicTest', 0), 0, 1)
    await flushed(world, store)
    expect(await readAll(world, store)).toEqual(new Map([[0, 'due']]))
  })
})

async function openWith(world: SimulatedWorld, notes: string[]): Promise<Store> {
  const store = await Store.open(STORE_OPTIONS, world.platform)
  store.join(participantOf(notes))
  await store.findForeign()
  await store.recover(() => undefined)
  return store
}

describe('a checkpoint', () => {
  test.each(['STORE_FULL', 'STORE_FAILED'] as const)(
    'that work must not begin without lets the start fail (%s)',
    async error => {
      const world = new SimulatedWorld({ seed: 3 })
      const store = await world.finish(Store.open(STORE_OPTIONS, world.platform))
      const { participant } = participantOf([])
      store.join({ participant: { ...participant, needsCheckpoint: true } })
      await world.finish(store.findForeign())
      await world.finish(store.recover(() => undefined))
      world.faults.failNext({ call: 'write', path: /manifest/, error })
      expect(await rejectionOf(world.finish(store.start()))).toBe(error)
      await world.finish(store.abandon())
      const next = await startStore(world)
      expect(sendMany(world, next, 1)).toHaveLength(1)
    },
  )

  test('is not tried again when a sync of it has failed', async () => {
    const world = new SimulatedWorld({ seed: 11 })
    const store = await startStore(world, { checkpointIntervalMs: 100 })
    sendMany(world, store, 5)
    world.faults.failNext({ call: 'datasync', path: /consumequeue/, error: 'STORE_FAILED' })
    await world.run(() => store.failure !== undefined)
    await world.runFor(1_000)
    expect(store.checkpointOffset).toBe(0)
    await world.finish(store.stop())
    const { files, log } = world.outside
    const manifestFile = new ManifestFile(files, `${directory}/orrery`, log)
    expect(await world.finish(manifestFile.read())).toBeUndefined()
  })

  test('takes its durable steps in order', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    const steps: string[] = []
    const store = await world.finish(openWith(world, steps))
    await world.finish(store.start())
    sendMany(world, store, 5)
    await flushed(world, store)
    world.faults.onCall = ({ call, path }) => {
      if (call === 'write' || call === 'datasync' || call === 'syncDirectory') {
        steps.push(`${call} ${path.slice(directory.length + 1)}`)
      }
    }
    await checkpointed(world, store)
    await world.run(() => steps.includes('committed'))
    const file = `consumequeue/TopicTest/0/${'0'.repeat(20)}`
    expect(steps).toEqual([
      'prepare',
      'snapshot',
      'syncDirectory consumequeue',
      'syncDirectory consumequeue/TopicTest',
      `datasync ${file}`,
      'syncDirectory consumequeue/TopicTest/0',
      `write ${file}`,
      `datasync ${file}`,
      'write',
      'write orrery/manifest-a',
      'datasync orrery/manifest-a',
      'syncDirectory orrery',
      'write orrery/manifest-b',
      'datasync orrery/manifest-b',
      'syncDirectory orrery',
      'committed',
    ])
  })

  test('syncs the log before the manifest when flushes do not', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    const store = await startStore(world, { flush: 'async', checkpointIntervalMs: 100 })
    sendMany(world, store, 5)
    await flushed(world, store)
    const steps: string[] = []
    world.faults.onCall = ({ call, path }) => {
      const isOfInterest = /commitlog|manifest/.test(path)
      if (call === 'datasync' && isOfInterest) steps.push(path.replace(/.*\//, ''))
    }
    await world.run(() => steps.includes('manifest-a'))
    expect(steps).toEqual(['0'.repeat(20), 'manifest-a'])
  })

  test('fails the store when the disk fails', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    const store = await startStore(world)
    sendMany(world, store, 5)
    await flushed(world, store)
    world.faults.failNext({ call: 'datasync', path: /manifest/, error: 'STORE_FAILED' })
    await world.runFor(6_000)
    expect(store.failure?.code).toBe('STORE_FAILED')
    await world.finish(store.stop())
  })
})

describe('asynchronous flush', () => {
  test.each(Array.from({ length: 20 }, (_, index) => index))(
    'makes what was written during a sync durable too (SEED=%i)',
    async seed => {
      const world = new SimulatedWorld({ seed })
      const store = await startStore(world, { flush: 'async', checkpointIntervalMs: 86_400_000 })
      let isSyncing = false
      world.faults.onCall = ({ call, path }) => {
        if (call === 'datasync' && path.includes('commitlog')) isSyncing = true
      }
      const sent = sendMany(world, store, 3)
      await flushed(world, store)
      isSyncing = false
      await world.run(() => isSyncing)
      sent.push(send(world, store, { body: 'during the sync' }))
      await world.runFor(1_200)
      world.crash()
      const next = await startStore(world, { flush: 'async' })
      expect(await missing(world, next, sent)).toEqual([])
    },
  )

  test('goes on after the disk was full', async () => {
    const world = new SimulatedWorld({ seed: 5 })
    const store = await startStore(world, { flush: 'async' })
    const sent = sendMany(world, store, 3)
    await flushed(world, store)
    world.faults.failNext({ call: 'write', path: /commitlog/, error: 'STORE_FULL', count: 3 })
    sent.push(send(world, store, { body: 'later' }))
    await flushed(world, store)
    sent.push(send(world, store, { body: 'last' }))
    await flushed(world, store)
    expect(await missing(world, store, sent)).toEqual([])
  })
})

async function stoppedWorld(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed: 6 })
  const store = await startStore(world)
  sendMany(world, store, 5)
  await flushed(world, store)
  await world.finish(store.stop())
  world.exit()
  return world
}

async function isForeign(world: SimulatedWorld): Promise<boolean> {
  return (await world.finish(openStore(world))).isForeign
}

describe('another broker', () => {
  test('was not there after a clean stop of ours', async () => {
    expect(await isForeign(await stoppedWorld())).toBe(false)
  })

  test('was not there when we crashed soon after a start', async () => {
    const world = await stoppedWorld()
    const store = await startStore(world)
    const more = sendMany(world, store, 5)
    await flushed(world, store)
    world.crash()
    const next = await world.finish(openStore(world))
    expect(next.isForeign).toBe(false)
    expect(await missing(world, next, more)).toEqual([])
  })

  test('was there when it fired delayed messages', async () => {
    const world = await stoppedWorld()
    const offsets = Buffer.from('{"offsetTable":{1:5}}')
    await world.finish(replaceFile(world.outside.files, delayOffsetPath(directory), offsets))
    expect(await isForeign(world)).toBe(true)
  })

  test('was there when the log has grown', async () => {
    const world = await stoppedWorld()
    const manifest = await world.finish(
      new ManifestFile(world.outside.files, `${directory}/orrery`, world.platform.log).read(),
    )
    const path = `${directory}/commitlog/${'0'.repeat(20)}`
    const file = await world.finish(world.outside.files.open(path, 'write'))
    await world.finish(file.write([Buffer.from([0, 0, 1, 0, 1])], manifest?.appliedOffset ?? 0))
    expect(await isForeign(world)).toBe(true)
  })

  test('was there when it took away the sign of our crash', async () => {
    const world = await stoppedWorld()
    await startStore(world)
    world.kill()
    await world.finish(world.outside.files.remove(`${directory}/abort`))
    expect(await isForeign(world)).toBe(true)
  })

  test('leaves a folder of which all messages are served, also without our manifest', async () => {
    for (const isAborted of [false, true]) {
      const world = await stoppedWorld()
      const { files } = world.outside
      for (const name of ['manifest-a', 'manifest-b']) {
        await world.finish(files.remove(`${directory}/orrery/${name}`))
      }
      if (isAborted) await world.finish(replaceFile(files, `${directory}/abort`, Buffer.from('17')))
      const store = await startStore(world)
      expect(store.isForeign).toBe(true)
      expect((await readAll(world, store)).size).toBe(5)
      send(world, store, { body: 'ours' })
      await flushed(world, store)
      expect((await readAll(world, store)).get(5)).toBe('ours')
    }
  })

  test('finds the folder as after its own clean stop', async () => {
    const world = await stoppedWorld()
    const checkpoint = await world.finish(
      readWholeFile(world.outside.files, `${directory}/checkpoint`),
    )
    expect(checkpoint).toHaveLength(4096)
    expect(await world.finish(world.outside.files.sizeOf(`${directory}/abort`))).toBeUndefined()
  })
})

describe('whenApplied', () => {
  test('resolves in order of the log, whoever asked first', async () => {
    const world = new SimulatedWorld({ seed: 7 })
    const store = await startStore(world)
    const [first, second] = sendMany(world, store, 2)
    const order: string[] = []
    const later = store.whenApplied(second?.commitLogOffset ?? 0).then(() => order.push('second'))
    const sooner = store.whenApplied(first?.commitLogOffset ?? 0).then(() => order.push('first'))
    await world.finish(Promise.all([later, sooner]))
    expect(order).toEqual(['first', 'second'])
  })

  test('rejects when the store is given up', async () => {
    const world = new SimulatedWorld({ seed: 7 })
    const store = await startStore(world)
    sendMany(world, store, 1)
    const waiting = rejectionOf(store.whenApplied(0))
    await world.finish(store.abandon())
    expect(await waiting).toBe('SHUTTING_DOWN')
  })
})
