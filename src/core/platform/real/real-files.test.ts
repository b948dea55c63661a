import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { RealFiles } from './real-files.ts'
import { fileError } from './system-error.ts'

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'orrery-files-'))
afterAll(() => {
  fs.rmSync(root, { recursive: true })
})
const files = new RealFiles()

test('all missing directories of a path are made, however the path is written', async () => {
  await files.makeDirectory(`${root}/a/b/c/`)
  await files.makeDirectory(path.relative('.', `${root}/a/d/e`))
  await files.makeDirectory(`${root}/a/b/c`)
  expect(await files.list(`${root}/a`)).toEqual(['b', 'd'])
  expect(await files.list(`${root}/a/b`)).toEqual(['c'])
})

test('a file in the way of a directory is a failure with the word of the system', async () => {
  fs.writeFileSync(`${root}/file`, '')
  const failure = {
    code: 'STORE_NOT_ACCESSIBLE',
    details: { path: `${root}/file`, reason: 'EEXIST' },
  }
  await expect(files.makeDirectory(`${root}/file`)).rejects.toMatchObject(failure)
  const below = { code: 'STORE_NOT_ACCESSIBLE', details: { reason: 'ENOTDIR' } }
  await expect(files.makeDirectory(`${root}/file/a/b`)).rejects.toMatchObject(below)
})

test.skipIf(!fs.existsSync('/proc/self'))(
  'a directory where the system makes none is a failure and no endless attempt',
  async () => {
    const failure = {
      code: 'STORE_NOT_ACCESSIBLE',
      details: { path: '/proc/none', reason: 'ENOENT' },
    }
    await expect(files.makeDirectory('/proc/none')).rejects.toMatchObject(failure)
    await expect(files.makeDirectory('/proc/none/below')).rejects.toMatchObject(failure)
  },
)

test.skipIf(process.getuid?.() === 0)('missing rights are no failure of the disk', async () => {
  fs.mkdirSync(`${root}/closed`, { mode: 0o500 })
  const failure = { code: 'STORE_NOT_ACCESSIBLE', details: { reason: 'EACCES' } }
  await expect(files.makeDirectory(`${root}/closed/a`)).rejects.toMatchObject(failure)
  await expect(files.open(`${root}/closed/b`, 'write')).rejects.toMatchObject(failure)
})

test.each([
  ['EACCES', 'STORE_NOT_ACCESSIBLE'],
  ['EROFS', 'STORE_NOT_ACCESSIBLE'],
  ['ENOSPC', 'STORE_FULL'],
  ['EIO', 'STORE_FAILED'],
  ['ENOENT', 'STORE_FAILED'],
])('the word %s of the system has the code %s', (word, code) => {
  expect(fileError(Object.assign(new Error(word), { code: word }), '/x').code).toBe(code)
})
