import { mkdtempSync, openSync, readdirSync, rmSync, writeSync, closeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BuiltCommand, runCommand } from './built-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'orrery-verify-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('verify refuses a folder in use, finds a whole store whole, and names what is damaged', async () => {
  const data = join(folder, 'data')
  const ports = ['--nameserver-port=0', '--remoting-port=0']
  const server = new BuiltCommand(['serve', ...ports, '--data', data, '--json'])
  const ready: unknown = JSON.parse(await server.firstLine())
  expect(ready).toMatchObject({ ready: true })
  const { nameserver } = Object(ready)
  const send = ['send', 'orders', 'hello', '--delay', '1h', '--server', String(nameserver)]
  expect((await runCommand(send)).code).toBe(0)
  const early = await runCommand(['verify', data])
  expect(early.code).toBe(3)
  expect(early.stderr).toContain('[STORE_LOCKED]')
  server.signal('SIGTERM')
  expect((await server.outcome()).code).toBe(0)

  const whole = await runCommand(['verify', data])
  expect(whole.stdout).toMatch(/^whole: 1 record, 1 queue, 1 index file, 1 chunk with 1 message\n$/)
  expect(whole.stderr).toBe('')
  expect(whole.code).toBe(0)

  const log = join(data, 'commitlog')
  const file = join(log, readdirSync(log)[0] ?? '')
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, '?', 90)
  closeSync(descriptor)
  const damaged = await runCommand(['verify', data, '--json'])
  expect(damaged.code).toBe(1)
  const lines = damaged.stdout.trimEnd().split('\n')
  const [finding, summary] = lines.map(line => JSON.parse(line) as unknown)
  expect(finding).toMatchObject({ finding: { kind: 'damage', file, fromPosition: 0 } })
  expect(summary).toMatchObject({ summary: { damageCount: 1, isClean: true } })
  expect(lines).toHaveLength(2)
})

test('verify of a folder that holds no store is refused with 2', async () => {
  const outcome = await runCommand(['verify', join(folder, 'nothing')])
  expect(outcome.code).toBe(2)
  expect(outcome.stderr).toContain('[STORE_MISSING]')
})
