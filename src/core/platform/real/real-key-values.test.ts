import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { KeyValueChange } from '../index.ts'
import { realPlatform } from '../index.ts'

const { keyValues } = realPlatform({ logLevel: 'silent' })
let root = ''

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-level-'))
})

afterEach(() => {
  fs.rmSync(root, { recursive: true })
})

/** Changes of 32 bytes each, about 1 MiB of LevelDB's memory, in an order that mixes the tables. */
function someChanges(start: number): readonly KeyValueChange[] {
  return Array.from({ length: 16_000 }, (_, offset) => {
    const value = Buffer.alloc(16)
    value.writeUInt32BE(Math.imul(start + offset, 0x9e37_79b1) >>> 0)
    return { key: value, value }
  })
}

function logs(): readonly string[] {
  return fs.readdirSync(root).filter(name => name.endsWith('.log'))
}

it('the library is imported by no statement that runs at the start', () => {
  const text = fs.readFileSync(new URL('real-key-values.ts', import.meta.url), 'utf8')
  const imports = text.split('\n').filter(line => line.includes("'classic-level'"))
  expect(imports).toHaveLength(2)
  expect(imports[0]).toMatch(/^import type /)
  expect(imports[1]).toMatch(/ await import\(/)
})

it('a map that was damaged is refused with the folder named', async () => {
  const map = await keyValues.open(root)
  await map.write(someChanges(0), true)
  await map.close()
  const manifest = fs.readdirSync(root).find(name => name.startsWith('MANIFEST'))
  fs.writeFileSync(`${root}/${manifest ?? ''}`, Buffer.alloc(100, 0x55))
  await expect(keyValues.open(root)).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { path: root },
  })
})

it('what was written is never in two logs, of which the older is not synced', async () => {
  const map = await keyValues.open(root)
  const names = new Set<string>()
  for (let round = 0; round < 8; round++) {
    await map.write(someChanges(round * 16_000), false)
    expect(logs()).toHaveLength(1)
    for (const name of logs()) names.add(name)
  }
  // It went over to a new log several times.
  expect(names.size).toBeGreaterThan(2)
  await map.close()
})

it('a durable write of nothing makes durable what was written before', async () => {
  const map = await keyValues.open(root)
  await map.write(someChanges(0), false)
  const before = fs.readdirSync(root).filter(name => name.endsWith('.ldb'))
  await map.write([], true)
  const after = fs.readdirSync(root).filter(name => name.endsWith('.ldb'))
  expect(after.length).toBeGreaterThan(before.length)
  expect(fs.statSync(`${root}/${logs()[0] ?? ''}`).size).toBe(0)
  await map.close()
})
