import { describe, expect, test } from 'vitest'
import { DUE_MS, IndexScene, KINDS, STAGED_COUNT } from './testing.ts'

const HOUR_MS = 3_600_000

describe.each(KINDS)('the index of $words', kind => {
  test('leads to the latest message, before and after a checkpoint and a start', async () => {
    const scene = await IndexScene.begin(kind)
    expect(await scene.found(7)).toBeUndefined()
    for (const timerId of [34, 56]) {
      scene.numbered.set(7, timerId)
      expect(await scene.found(7)).toBe(timerId)
      await scene.checkpoint(timerId + 1)
      expect(await scene.found(7)).toBe(timerId)
      await scene.reopen()
      expect(scene.index.needsRebuild).toBe(false)
      expect(await scene.found(7)).toBe(timerId)
    }
    expect(await scene.found(8)).toBeUndefined()
  })

  test('says that what was found is not current once something may have changed', async () => {
    const scene = await IndexScene.begin(kind)
    const { numbered, world } = scene
    const absent = await world.finish(numbered.find(7))
    expect(numbered.isCurrent(7, absent)).toBe(true)
    numbered.set(7, 34)
    expect(numbered.isCurrent(7, absent)).toBe(false)
    const found = await world.finish(numbered.find(7))
    expect(numbered.isCurrent(7, found)).toBe(true)
    await scene.checkpoint(100)
    expect(numbered.isCurrent(7, found)).toBe(false)
  })

  test('makes its folder with the first entry', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.checkpoint(100)
    expect(await scene.fileNames()).toEqual([])
    scene.numbered.set(7, 34)
    await scene.checkpoint(200)
    expect(await scene.fileNames()).not.toEqual([])
  })

  test('forgets a message some time after it was due, unless it is parked', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    scene.firedMs = DUE_MS + kind.keptMs
    await scene.checkpoint(100)
    expect(await scene.found(7)).toBe(34)
    scene.parked.add(34)
    scene.firedMs++
    await scene.checkpoint(100)
    expect(await scene.found(7)).toBe(34)
    scene.parked.clear()
    await scene.checkpoint(100)
    expect(await scene.found(7)).toBeUndefined()
  })

  test('forgets as many as were written, however many that are', async () => {
    const scene = await IndexScene.begin(kind)
    for (let round = 0; round < 3; round++) {
      for (let number = 0; number < 5_000; number++) {
        scene.numbered.set(round * 5_000 + number, number)
      }
      await scene.checkpoint(5_000 * (round + 1))
      scene.firedMs = DUE_MS + kind.keptMs + HOUR_MS
    }
    for (let round = 0; round < 10; round++) await scene.checkpoint(20_000)
    await scene.close()
    expect(await scene.entryKeys()).toHaveLength(0)
  })

  test('is written in pieces', async () => {
    const scene = await IndexScene.begin(kind)
    const sizes: number[] = []
    scene.world.faults.onCall = ({ call, sizeBytes }) => {
      if (call === 'keyValueWrite') sizes.push(sizeBytes)
    }
    for (let number = 0; number < 20_000; number++) scene.numbered.set(number, number)
    await scene.checkpoint(20_000)
    expect(Math.max(...sizes)).toBeLessThan(4_096 * 40 + 1)
    expect(await scene.found(19_999)).toBe(19_999)
  })

  test('asks for a checkpoint when it has much in memory, and holds up senders beyond', async () => {
    const scene = await IndexScene.begin(kind)
    for (let number = 0; number < 2 * STAGED_COUNT; number++) {
      expect(scene.index.needsCheckpoint).toBe(number >= STAGED_COUNT)
      expect(scene.index.isCongested).toBe(false)
      scene.numbered.set(number, number)
    }
    expect(scene.index.isCongested).toBe(true)
    await scene.checkpoint(2 * STAGED_COUNT)
    expect(scene.index.isCongested).toBe(false)
    expect(await scene.found(77)).toBe(77)
  })

  test('counts what a failed checkpoint has left in memory, and writes it with the next', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    for (let number = 7; number < 7 + 2 * STAGED_COUNT; number++) scene.numbered.set(number, 56)
    scene.world.faults.failNext({ call: 'keyValueWrite', error: 'STORE_FULL', count: 1 })
    await expect(scene.checkpoint(600)).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(scene.index.isCongested).toBe(true)
    scene.numbered.set(8, 78)
    await scene.checkpoint(700)
    expect(scene.index.needsCheckpoint).toBe(false)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(false)
    expect(await scene.found(7)).toBe(56)
    expect(await scene.found(8)).toBe(78)
  })

  test('writes its marker with the next checkpoint when there was no room for it', async () => {
    const scene = await IndexScene.begin(kind)
    await scene.write(7, 34)
    scene.numbered.set(7, 56)
    const { faults } = scene.world
    let writeCount = 0
    faults.onCall = ({ call }) => {
      if (call !== 'keyValueWrite') return
      if (++writeCount === 2) faults.failNext({ call, error: 'STORE_FULL' })
    }
    await expect(scene.checkpoint(600)).rejects.toMatchObject({ code: 'STORE_FULL' })
    await scene.checkpoint(700)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(false)
    expect(await scene.found(7)).toBe(56)
  })

  test('keeps little in memory during a long recovery, and has it all afterwards', async () => {
    const scene = await IndexScene.begin(kind)
    for (let number = 0; number < 5 * STAGED_COUNT; number++) {
      scene.numbered.set(number, number)
      await scene.world.finish(scene.index.relieve())
      expect(scene.index.needsCheckpoint).toBe(false)
    }
    await scene.checkpoint(2_000)
    await scene.reopen()
    expect(scene.index.needsRebuild).toBe(false)
    expect(await scene.found(0)).toBe(0)
    expect(await scene.found(5 * STAGED_COUNT - 1)).toBe(5 * STAGED_COUNT - 1)
  })

  test('finds what left memory while the disk was read', async () => {
    const scene = await IndexScene.begin(kind)
    const { numbered, index, world } = scene
    await scene.write(7, 34)
    const found = await scene.meanwhile(
      () => numbered.find(7),
      async () => {
        numbered.set(7, 56)
        index.snapshot(100)
        await world.finish(index.write())
      },
    )
    expect(found.ref?.timerId).toBe(56)
  })
})
