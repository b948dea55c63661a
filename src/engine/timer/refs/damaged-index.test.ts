import { describe, expect, test } from 'vitest'
import { DUE_MS, IndexScene, KINDS } from './testing.ts'

const HOUR_MS = 3_600_000
const MARKER_KEY = Buffer.from([0])
const DAMAGED = Buffer.alloc(20, 1)
const BEHIND = Buffer.from('0000000000000064dfc8e3f0', 'hex')
const UNSOUND = Buffer.from('00000000000f424000000000', 'hex')

describe.each(KINDS)('the index of $words', kind => {
  test.each([
    ['lost', undefined],
    ['behind the manifest', BEHIND],
    ['without a sound marker', UNSOUND],
  ])('is made again when it is %s', async (_name, marker) => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 199)
    await scene.close()
    if (marker === undefined) await scene.removeFiles()
    else await scene.writeRaw(MARKER_KEY, marker)
    await scene.open()
    expect(scene.index.needsRebuild).toBe(true)
    expect(scene.errorCount()).toBe(1)
    await expect(scene.found(7)).rejects.toMatchObject({ code: 'STORE_BUSY' })
    // A start that was interrupted begins again.
    await scene.checkpoint(300)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
    // One that was accepted meanwhile counts more than what is found.
    scene.numbered.set(8, 290)
    await scene.world.finish(scene.numbered.add(7, 199))
    await scene.world.finish(scene.numbered.add(8, 150))
    await scene.checkpoint(300)
    scene.index.rebuilt()
    await scene.checkpoint(300)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(false)
    expect(await scene.found(7)).toBe(199)
    expect(await scene.found(8)).toBe(290)
  })

  test('is made again when an earlier version wrote it, without a marker', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    scene.section = true
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
    expect(await scene.fileNames()).toEqual([])
  })

  test('keeps the newer message when that leaves memory while an older one is added', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    await scene.close()
    await scene.removeFiles()
    await scene.open()
    const { numbered, index, world } = scene
    // So that there is something to read.
    await scene.write(8, 40)
    await scene.meanwhile(
      () => numbered.add(7, 34),
      async () => {
        numbered.set(7, 56)
        index.snapshot(100)
        await world.finish(index.write())
      },
    )
    index.rebuilt()
    expect(await scene.found(7)).toBe(56)
    await scene.checkpoint(200)
    expect(await scene.found(7)).toBe(56)
  })

  test('sweeps past an entry with a bad bit, says so once, and refuses who asks for it', async () => {
    const scene = await IndexScene.begin(kind)
    for (let number = 0; number < 20; number++) scene.numbered.set(number, number)
    await scene.checkpoint(100)
    await scene.close()
    const [, damagedKey] = await scene.entryKeys()
    if (damagedKey === undefined) throw new Error('nothing was written')
    await scene.writeRaw(damagedKey, DAMAGED)
    await scene.open()
    const refusedCount = async (): Promise<number> => {
      let count = 0
      for (let number = 0; number < 20; number++) {
        await scene.found(number).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'MESSAGE_UNREADABLE' })
          count++
        })
      }
      return count
    }
    scene.firedMs = DUE_MS + kind.keptMs + HOUR_MS
    for (let round = 0; round < 3; round++) await scene.checkpoint(100)
    expect(scene.errorCount()).toBe(1)
    expect(await refusedCount()).toBe(1)
    expect(scene.errorCount()).toBe(1)
    await scene.close()
    expect(await scene.entryKeys()).toEqual([damagedKey])
    await scene.open()
    expect(scene.index.needsRebuild).toBe(true)
    expect(await scene.fileNames()).toEqual([])
  })

  test.each(['STORE_DAMAGED', 'STORE_FAILED'] as const)(
    'lives with a sweep whose read ends in %s, says so once, and is made again',
    async error => {
      const scene = await IndexScene.begin(kind)
      await scene.write(7, 34)
      scene.world.faults.failNext({ call: 'keyValueRead', error, count: 1 })
      for (let round = 0; round < 3; round++) {
        scene.numbered.set(8, 56 + round)
        await scene.checkpoint(100 + round)
      }
      expect(scene.errorCount()).toBe(1)
      expect(await scene.found(7)).toBe(34)
      expect(await scene.found(8)).toBe(58)
      await scene.reopen()
      expect(scene.index.needsRebuild).toBe(true)
    },
  )

  test('lives with a sweep that finds damage as it writes', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    scene.firedMs = DUE_MS + kind.keptMs + 1
    const { faults } = scene.world
    faults.failNext({ call: 'keyValueWrite', error: 'STORE_DAMAGED', count: 1 })
    for (let round = 0; round < 3; round++) await scene.checkpoint(100)
    expect(scene.errorCount()).toBe(1)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
  })

  test('is made again by the next start when a look has found damage', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    const { faults } = scene.world
    for (let round = 0; round < 2; round++) {
      faults.failNext({ call: 'keyValueRead', error: 'STORE_DAMAGED' })
      await expect(scene.found(7)).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    }
    expect(scene.errorCount()).toBe(1)
    expect(await scene.found(7)).toBe(34)
    await scene.checkpoint(100)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
  })

  test('refuses all, and keeps nothing in memory, once it cannot be written any more', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    const { faults } = scene.world
    faults.failNext({ call: 'keyValueWrite', error: 'STORE_DAMAGED', count: 100 })
    for (let round = 0; round < 5; round++) {
      for (let number = 0; number < 1_000; number++) scene.numbered.set(number, round)
      await scene.checkpoint(100 + round)
      expect(scene.index.needsCheckpoint).toBe(false)
      await expect(scene.found(7)).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    }
    expect(scene.errorCount()).toBe(1)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
  })

  test.each(['at once', 'after the next checkpoint'])(
    'is made again after a crash %s when a checkpoint could not write it',
    async when => {
      const scene = await IndexScene.begin(kind)
      await scene.write(7, 34)
      const { faults } = scene.world
      faults.failNext({ call: 'keyValueWrite', error: 'STORE_DAMAGED' })
      scene.numbered.set(7, 56)
      await scene.checkpoint(100)
      if (when !== 'at once') await scene.checkpoint(200)
      scene.world.crash()
      await scene.open()
      expect(scene.index.needsRebuild).toBe(true)
    },
  )

  test('closes when it can be neither written nor opened again', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    const { faults } = scene.world
    faults.failNext({ call: 'keyValueWrite', error: 'STORE_DAMAGED' })
    faults.failNext({ call: 'keyValueOpen', error: 'STORE_DAMAGED' })
    scene.numbered.set(7, 56)
    await scene.checkpoint(100)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(true)
  })
})
