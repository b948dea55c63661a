import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { RealFile } from './real-file.ts'

const leftovers: string[] = []

afterEach(() => {
  for (const folder of leftovers.splice(0)) fs.rmSync(folder, { recursive: true })
})

function openIn(folder: string, hasDsync: boolean): RealFile {
  const name = path.join(folder, 'a')
  return new RealFile(name, fs.openSync(name, 'w+'), hasDsync)
}

test.each([
  ['with', true],
  ['without', false],
])('a durable write %s O_DSYNC puts all parts in their place', async (_name, hasDsync) => {
  if (hasDsync && process.platform !== 'linux') return
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-file-'))
  leftovers.push(folder)
  const file = openIn(folder, hasDsync)
  await Promise.all([
    file.writeDurably([Buffer.from('ab'), Buffer.from('c')], 0),
    file.writeDurably([Buffer.from('ef')], 4),
  ])
  await file.close()
  expect(fs.readFileSync(path.join(folder, 'a'), 'latin1')).toBe('abc\0ef')
  await expect(file.writeDurably([Buffer.from('x')], 0)).rejects.toThrow('closed')
})

test('a durable write without O_DSYNC opens no second descriptor', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-file-'))
  leftovers.push(folder)
  const file = openIn(folder, false)
  // The name is gone: a second open would fail.
  fs.unlinkSync(path.join(folder, 'a'))
  await file.writeDurably([Buffer.from('abc')], 0)
  const target = Buffer.alloc(3)
  expect(await file.read(target, 0)).toBe(3)
  expect(target.toString()).toBe('abc')
  await file.close()
})
