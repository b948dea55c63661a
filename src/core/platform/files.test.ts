import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { InvariantError } from '../base/index.ts'
import type { Files } from './files.ts'
import { readWholeFile, realPlatform, replaceFile } from './index.ts'
import { SimulatedWorld } from './simulated/index.ts'

/** A place to work in, and how to wait for what is asked of it. */
interface Place {
  readonly files: Files
  readonly root: string
  readonly run: <T>(body: () => Promise<T>) => Promise<T>
}

const leftovers: string[] = []

afterEach(() => {
  for (const folder of leftovers.splice(0)) fs.rmSync(folder, { recursive: true })
})

function realPlace(): Place {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-files-'))
  leftovers.push(root)
  const { files } = realPlatform({ logLevel: 'silent' })
  return { files, root, run: body => body() }
}

function simulatedPlace(): Place {
  const world = new SimulatedWorld({ seed: 7 })
  world.outside.files.makeDirectory('/data').catch(() => undefined)
  return { files: world.platform.files, root: '/data', run: body => world.finish(body()) }
}

describe.each([
  ['real', realPlace],
  ['simulated', simulatedPlace],
])('the %s files', (_name, newPlace) => {
  function test(title: string, body: (files: Files, root: string) => Promise<void>): void {
    it(title, async () => {
      const { files, root, run } = newPlace()
      await run(async () => {
        await files.makeDirectory(root)
        await body(files, root)
      })
    })
  }

  test('read what was written in parts, at its position', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.write([Buffer.from('one'), Buffer.from(''), Buffer.from('two')], 5)
    await file.write([Buffer.from('three')], 8)
    const target = Buffer.alloc(20, 1)
    expect(await file.read(target, 0)).toBe(13)
    expect(target.toString('latin1', 0, 13)).toBe('\0\0\0\0\0onethree')
    expect(target[13]).toBe(1)
    expect(await file.sizeBytes()).toBe(13)
    await file.close()
  })

  test('write very many parts at once', async (files, root) => {
    const parts = Array.from({ length: 3_000 }, (_, index) => Buffer.from(`${index};`))
    const file = await files.open(`${root}/a`, 'write')
    await file.write(parts, 0)
    await file.close()
    const content = await readWholeFile(files, `${root}/a`)
    expect(content?.equals(Buffer.concat(parts))).toBe(true)
  })

  test('write nothing without making the file longer', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.write([], 100)
    await file.write([Buffer.alloc(0)], 100)
    expect(await file.sizeBytes()).toBe(0)
    await file.close()
  })

  test('read nothing at and beyond the end', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.write([Buffer.from('abc')], 0)
    expect(await file.read(Buffer.alloc(4), 3)).toBe(0)
    expect(await file.read(Buffer.alloc(4), 1_000_000)).toBe(0)
    expect(await file.read(Buffer.alloc(0), 0)).toBe(0)
    await file.close()
  })

  test('cut and extend with zeros, sparsely up to a gibibyte', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.write([Buffer.alloc(10_000, 7)], 0)
    await file.truncate(5_000)
    await file.truncate(2 ** 30)
    expect(await file.sizeBytes()).toBe(2 ** 30)
    const target = Buffer.alloc(10_000, 1)
    expect(await file.read(target, 0)).toBe(10_000)
    expect(target.equals(Buffer.concat([Buffer.alloc(5_000, 7), Buffer.alloc(5_000)]))).toBe(true)
    await file.datasync()
    await file.close()
    expect(await files.sizeOf(`${root}/a`)).toBe(2 ** 30)
  })

  test('write durably, from several parts and beside other writes', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.write([Buffer.from('......')], 0)
    await Promise.all([
      file.writeDurably([Buffer.from('ab'), Buffer.from('c')], 0),
      file.writeDurably([Buffer.from('ef')], 4),
    ])
    const target = Buffer.alloc(6)
    expect(await file.read(target, 0)).toBe(6)
    expect(target.toString()).toBe('abc.ef')
    await file.close()
    await expect(file.writeDurably([Buffer.from('x')], 0)).rejects.toThrow('closed')
  })

  test('open for writing keeps what is there', async (files, root) => {
    await replaceFile(files, `${root}/a`, Buffer.from('kept'))
    const file = await files.open(`${root}/a`, 'write')
    expect(await file.sizeBytes()).toBe(4)
    await file.close()
  })

  test('refuse to open what is missing for reading', async (files, root) => {
    const expected = { code: 'STORE_FAILED', details: { path: `${root}/a`, reason: 'ENOENT' } }
    await expect(files.open(`${root}/a`, 'read')).rejects.toMatchObject(expected)
    await expect(files.open(`${root}/b/a`, 'write')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  test('refuse a folder where a file is', async (files, root) => {
    await replaceFile(files, `${root}/a`, Buffer.from('x'))
    const refusal = { code: 'STORE_NOT_ACCESSIBLE' }
    await expect(files.makeDirectory(`${root}/a/b`)).rejects.toMatchObject(refusal)
    await expect(files.list(`${root}/a`)).rejects.toMatchObject(refusal)
  })

  test('refuse to write what is open for reading', async (files, root) => {
    await replaceFile(files, `${root}/a`, Buffer.from('x'))
    const file = await files.open(`${root}/a`, 'read')
    const writing = file.write([Buffer.from('y')], 0)
    await expect(writing).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await file.close()
  })

  test('treat the use of a closed file as a broken invariant', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await file.close()
    await expect(file.read(Buffer.alloc(1), 0)).rejects.toBeInstanceOf(InvariantError)
    await expect(file.write([Buffer.alloc(1)], 0)).rejects.toBeInstanceOf(InvariantError)
    await expect(file.close()).rejects.toBeInstanceOf(InvariantError)
  })

  test('tell the size of files only', async (files, root) => {
    await replaceFile(files, `${root}/a`, Buffer.from('four'))
    expect(await files.sizeOf(`${root}/a`)).toBe(4)
    expect(await files.sizeOf(`${root}/missing`)).toBeUndefined()
    expect(await files.sizeOf(`${root}/a/below`)).toBeUndefined()
    expect(await files.sizeOf(root)).toBeUndefined()
  })

  test('list names by code unit, and nothing where nothing is', async (files, root) => {
    await files.makeDirectory(`${root}/d/B`)
    for (const name of ['b', 'a', '10', '9', 'é']) {
      await replaceFile(files, `${root}/d/${name}`, Buffer.from('x'))
    }
    expect(await files.list(`${root}/d`)).toEqual(['10', '9', 'B', 'a', 'b', 'é'])
    expect(await files.list(`${root}/missing`)).toEqual([])
  })

  test('make directories that exist, and those above', async (files, root) => {
    await files.makeDirectory(`${root}/x/y/z`)
    await files.makeDirectory(`${root}/x/y/z`)
    expect(await files.list(`${root}/x/y`)).toEqual(['z'])
  })

  test('remove files and empty directories, whether they exist or not', async (files, root) => {
    await files.makeDirectory(`${root}/x/y`)
    await replaceFile(files, `${root}/a`, Buffer.from('x'))
    await files.remove(`${root}/a`)
    await files.remove(`${root}/a`)
    await expect(files.remove(`${root}/x`)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await files.remove(`${root}/x/y`)
    await files.remove(`${root}/x`)
    expect(await files.list(root)).toEqual([])
  })

  test('keep an open file usable when its name is gone', async (files, root) => {
    const file = await files.open(`${root}/a`, 'write')
    await files.remove(`${root}/a`)
    await file.write([Buffer.from('still')], 0)
    expect(await file.sizeBytes()).toBe(5)
    expect(await files.sizeOf(`${root}/a`)).toBeUndefined()
    await file.close()
  })

  test('rename over what exists, and across directories', async (files, root) => {
    await files.makeDirectory(`${root}/d`)
    await replaceFile(files, `${root}/a`, Buffer.from('new'))
    await replaceFile(files, `${root}/d/b`, Buffer.from('older'))
    await files.rename(`${root}/a`, `${root}/d/b`)
    expect((await readWholeFile(files, `${root}/d/b`))?.toString()).toBe('new')
    expect(await files.list(root)).toEqual(['d'])
    const missing = files.rename(`${root}/a`, `${root}/c`)
    await expect(missing).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  test('sync directories, but not missing ones', async (files, root) => {
    await files.syncDirectory(root)
    const missing = files.syncDirectory(`${root}/missing`)
    await expect(missing).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  test('tell the space', async (files, root) => {
    const { freeBytes, totalBytes } = await files.space(root)
    expect(freeBytes).toBeGreaterThan(0)
    expect(totalBytes).toBeGreaterThanOrEqual(freeBytes)
  })

  test('give the lock of a directory to one only, until it is released', async (files, root) => {
    const lock = await files.lock(`${root}/new`)
    expect(await files.list(root)).toEqual(['new'])
    const second = files.lock(`${root}/./new`)
    await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    const other = await files.lock(`${root}/other`)
    await lock.release()
    const again = await files.lock(`${root}/new`)
    await Promise.all([again.release(), other.release()])
  })

  test('replace a file whole, and read it whole', async (files, root) => {
    await replaceFile(files, `${root}/a`, Buffer.from('a long first content'))
    await replaceFile(files, `${root}/a`, Buffer.from('short'))
    expect((await readWholeFile(files, `${root}/a`))?.toString()).toBe('short')
    expect(await readWholeFile(files, `${root}/missing`)).toBeUndefined()
    expect(await files.list(root)).toEqual(['a'])
  })
})
