import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { InvariantError } from '../base/index.ts'
import type { KeyValue, KeyValueChange, Platform } from './index.ts'
import { realPlatform } from './index.ts'
import { SimulatedWorld } from './simulated/index.ts'

/** A place to work in, and how to wait for what is asked of it. */
interface Place {
  readonly platform: Platform
  readonly root: string
  readonly run: <T>(body: () => Promise<T>) => Promise<T>
}

const leftovers: string[] = []

afterEach(() => {
  for (const folder of leftovers.splice(0)) fs.rmSync(folder, { recursive: true })
})

function realPlace(): Place {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-key-values-'))
  leftovers.push(root)
  return { platform: realPlatform({ logLevel: 'silent' }), root, run: body => body() }
}

function simulatedPlace(): Place {
  const world = new SimulatedWorld({ seed: 7 })
  return { platform: world.platform, root: '/data', run: body => world.finish(body()) }
}

const NONE = Buffer.alloc(0)
const LAST = Buffer.alloc(8, 0xff)

function put(key: Buffer | string, value: Buffer | string): KeyValueChange {
  return { key: Buffer.from(key), value: Buffer.from(value) }
}

function remove(key: Buffer | string): KeyValueChange {
  return { key: Buffer.from(key), value: undefined }
}

function textOf(entries: readonly KeyValue[]): readonly string[] {
  return entries.map(({ key, value }) => `${key.toString('latin1')}=${value.toString('latin1')}`)
}

describe.each([
  ['real', realPlace],
  ['simulated', simulatedPlace],
])('the %s key-value maps', (_name, newPlace) => {
  function test(title: string, body: (platform: Platform, root: string) => Promise<void>): void {
    it(title, async () => {
      const { platform, root, run } = newPlace()
      await run(() => body(platform, root))
    })
  }

  test('give the values of several keys in their order', async ({ keyValues }, root) => {
    const values = await keyValues.open(`${root}/map`)
    await values.write([put('a', '1'), put('b', '2'), put('c', NONE)], false)
    const found = await values.getMany(['c', 'x', 'a', 'a'].map(key => Buffer.from(key)))
    expect(found.map(value => value?.toString())).toEqual(['', undefined, '1', '1'])
    expect(await values.getMany([])).toEqual([])
    await values.close()
  })

  test('give what was written, until it is removed', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/new/map`)
    expect(await map.get(Buffer.from('a'))).toBeUndefined()
    await map.write([put('a', 'one'), put('b', 'two')], false)
    await map.write([put('a', 'three'), remove('b'), remove('missing')], true)
    expect(await map.get(Buffer.from('a'))).toEqual(Buffer.from('three'))
    expect(await map.get(Buffer.from('b'))).toBeUndefined()
    await map.close()
  })

  test('make the changes of one write in their order', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    await map.write([put('a', '1'), remove('a'), put('b', '1'), put('b', '2')], false)
    expect(textOf(await map.range(NONE, LAST, 10))).toEqual(['b=2'])
    await map.close()
  })

  test('make writes in the order of the calls', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    const writes = Array.from({ length: 300 }, (_, index) => {
      return map.write([put('a', `${index}`), put(`b${index % 7}`, `${index}`)], index % 50 === 0)
    })
    await Promise.all(writes)
    expect(await map.get(Buffer.from('a'))).toEqual(Buffer.from('299'))
    expect(await map.get(Buffer.from('b3'))).toEqual(Buffer.from('297'))
    await map.close()
  })

  test('order keys by their bytes, the shorter first', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    const keys = [[0xff], [0x80, 0], [0x80], [0x7f, 0xff], [0], [0, 0], [], [0xc3, 0xa9], [0x41]]
    await map.write(
      keys.map(bytes => put(Buffer.from(bytes), 'x')),
      false,
    )
    const entries = await map.range(NONE, LAST, 100)
    const sorted = keys.map(bytes => Buffer.from(bytes)).toSorted((a, b) => Buffer.compare(a, b))
    expect(entries.map(({ key }) => key)).toEqual(sorted)
    await map.close()
  })

  test('keep empty keys and empty values apart from missing ones', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    expect(await map.get(NONE)).toBeUndefined()
    await map.write([put('', ''), put('a', '')], false)
    expect(await map.get(NONE)).toEqual(NONE)
    expect(textOf(await map.range(NONE, LAST, 10))).toEqual(['=', 'a='])
    await map.write([remove('')], false)
    expect(textOf(await map.range(NONE, LAST, 10))).toEqual(['a='])
    await map.close()
  })

  test('give a range from its start on and before its end', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    await map.write(
      ['a', 'b', 'c', 'd', 'e'].map(key => put(key, key)),
      false,
    )
    const range = async (from: string, to: string, countMax: number): Promise<string> => {
      const entries = await map.range(Buffer.from(from), Buffer.from(to), countMax)
      return entries.map(({ key }) => key.toString()).join('')
    }
    expect(await range('b', 'd', 10)).toBe('bc')
    expect(await range('b', 'd\0', 10)).toBe('bcd')
    expect(await range('b\0', 'z', 10)).toBe('cde')
    expect(await range('', 'z', 3)).toBe('abc')
    expect(await range('', 'z', 0)).toBe('')
    expect(await range('c', 'c', 10)).toBe('')
    expect(await range('d', 'b', 10)).toBe('')
    expect(await range('', '', 10)).toBe('')
    expect(await range('x', 'z', 10)).toBe('')
    await map.close()
  })

  test('find many megabytes again', async ({ keyValues }, root) => {
    const count = 30_000
    const keyOf = (index: number): Buffer => Buffer.from(`${(index * 7_919) % count}`)
    let map = await keyValues.open(`${root}/map`)
    for (let start = 0; start < count; start += 3_000) {
      const changes = Array.from({ length: 3_000 }, (_, offset) => {
        return put(keyOf(start + offset), Buffer.alloc(500, `${start + offset};`))
      })
      await map.write(changes, false)
    }
    await map.close()
    map = await keyValues.open(`${root}/map`)
    for (const index of [0, 1, 14_999, 29_998, 29_999]) {
      expect(await map.get(keyOf(index))).toEqual(Buffer.alloc(500, `${index};`))
    }
    expect(await map.range(NONE, LAST, count + 1)).toHaveLength(count)
    await map.close()
  })

  test('are there when they are opened again, each for itself', async ({ keyValues }, root) => {
    const [first, second] = [await keyValues.open(`${root}/1`), await keyValues.open(`${root}/2`)]
    await first.write([put('a', '1')], false)
    await second.write([put('a', '2')], true)
    await second.write([], true)
    await Promise.all([first.close(), second.close()])
    const again = await keyValues.open(`${root}/1`)
    expect(textOf(await again.range(NONE, LAST, 10))).toEqual(['a=1'])
    await again.close()
  })

  test('are open once at a time', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    const second = keyValues.open(`${root}/map`)
    await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await map.close()
    await (await keyValues.open(`${root}/map`)).close()
  })

  test('close after the calls that are under way', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    const done: string[] = []
    await Promise.all([
      map.write([put('a', '1')], true).then(() => done.push('first')),
      map.write([put('a', '2')], true).then(() => done.push('second')),
      map.close().then(() => done.push('close')),
    ])
    expect(done).toEqual(['first', 'second', 'close'])
    const again = await keyValues.open(`${root}/map`)
    expect(await again.get(Buffer.from('a'))).toEqual(Buffer.from('2'))
    await again.close()
  })

  test('treat the use of a closed map as a broken invariant', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    await map.close()
    await expect(map.get(NONE)).rejects.toBeInstanceOf(InvariantError)
    await expect(map.range(NONE, LAST, 1)).rejects.toBeInstanceOf(InvariantError)
    await expect(map.write([], false)).rejects.toBeInstanceOf(InvariantError)
    await expect(map.close()).rejects.toBeInstanceOf(InvariantError)
  })

  test('give away copies', async ({ keyValues }, root) => {
    const map = await keyValues.open(`${root}/map`)
    await map.write([put('a', 'one')], false)
    const value = await map.get(Buffer.from('a'))
    value?.fill(0)
    for (const entry of await map.range(NONE, LAST, 1)) entry.value.fill(0)
    expect(await map.get(Buffer.from('a'))).toEqual(Buffer.from('one'))
    await map.close()
  })

  test('are gone when all files of their folder are removed', async (platform, root) => {
    const { files, keyValues } = platform
    const map = await keyValues.open(`${root}/map`)
    await map.write([put('a', 'one')], true)
    await map.close()
    await expect(files.remove(`${root}/map`)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    for (const name of await files.list(`${root}/map`)) await files.remove(`${root}/map/${name}`)
    const again = await keyValues.open(`${root}/map`)
    expect(await again.range(NONE, LAST, 10)).toEqual([])
    await again.close()
  })

  test('refuse a folder that is a file', async ({ files, keyValues }, root) => {
    await files.makeDirectory(root)
    await (await files.open(`${root}/map`, 'write')).close()
    const refusal = { code: 'STORE_NOT_ACCESSIBLE' }
    await expect(keyValues.open(`${root}/map`)).rejects.toMatchObject(refusal)
  })
})
