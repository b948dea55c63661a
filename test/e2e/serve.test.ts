import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BuiltCommand, runCommand } from './built-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
afterAll(() => rmSync(folder, { recursive: true }))

let folderCount = 0

function serveArguments(...more: readonly string[]): readonly string[] {
  const data = join(folder, `data-${folderCount++}`)
  return ['serve', '--nameserver-port=0', '--remoting-port=0', '--data', data, ...more]
}

test('serve tells all addresses in one JSON line, and ends with 0 on SIGTERM within 5 s', async () => {
  const server = new BuiltCommand(serveArguments('--json'))
  const ready: unknown = JSON.parse(await server.firstLine())
  expect(ready).toMatchObject({
    ready: true,
    nameserver: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    remoting: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  })
  const signalledMs = performance.now()
  server.signal('SIGTERM')
  const { code, stdout } = await server.outcome()
  expect(code).toBe(0)
  expect(performance.now() - signalledMs).toBeLessThan(5000)
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
})

test('serve says in one sentence where it can be reached', async () => {
  const server = new BuiltCommand(serveArguments())
  expect(await server.firstLine()).toMatch(
    /^orrery \S+ is ready: name server \S+:\d+, broker \S+:\d+, data in \//,
  )
  server.signal('SIGINT')
  expect((await server.outcome()).code).toBe(0)
})

test('a second serve on the same folder is refused with a sentence and 3', async () => {
  const args = serveArguments()
  const first = new BuiltCommand(args)
  await first.firstLine()
  const second = await runCommand(args)
  expect(second.code).toBe(3)
  expect(second.stdout).toBe('')
  expect(second.stderr).toContain('another process has this data folder open')
  first.signal('SIGTERM')
  expect((await first.outcome()).code).toBe(0)
})

test('a port in use is refused with a sentence and 3', async () => {
  const first = new BuiltCommand(serveArguments('--json'))
  const [, port = ''] = /"nameserver":"[^"]*:(\d+)"/.exec(await first.firstLine()) ?? []
  const second = await runCommand(serveArguments('--nameserver-port', port))
  expect(second.code).toBe(3)
  expect(second.stderr).toContain('[ADDRESS_IN_USE]')
  first.signal('SIGTERM')
  await first.outcome()
})

test('SIGTERM while serve starts ends it with 0 within 5 s', async () => {
  // The warning about it comes before the start.
  const server = new BuiltCommand(serveArguments(), { env: { ORRERY_NONE: '1' } })
  await server.firstComplaint()
  const signalledMs = performance.now()
  server.signal('SIGTERM')
  const { code, stderr } = await server.outcome()
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(performance.now() - signalledMs).toBeLessThan(5000)
})

test.skipIf(!existsSync('/proc/self'))(
  'a data folder that the system does not make is refused with a sentence and 2',
  async () => {
    const { code, stderr } = await runCommand(serveArguments('--data', '/proc/none/data'))
    expect(code).toBe(2)
    expect(stderr).toContain('[STORE_NOT_ACCESSIBLE]\n  path: /proc/none\n')
  },
)

test('a file in place of the data folder is refused with a sentence and 2', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, 'x')
  const { code, stderr } = await runCommand(serveArguments('--data', file))
  expect(code).toBe(2)
  expect(stderr).toContain(`[STORE_NOT_ACCESSIBLE]\n  path: ${file}\n  reason: EEXIST`)
})

test('the command of a checkout says in a sentence that there is no build yet', () => {
  copyFileSync('orrery', join(folder, 'orrery'))
  const { status, stderr } = spawnSync(join(folder, 'orrery'), ['send', 't', 'b'])
  expect(status).toBe(1)
  const sentence = 'orrery: there is no build yet; run npm start or npm run build first\n'
  expect(stderr.toString()).toBe(sentence)
})

test('a call on the disk that hangs does not keep the process', async () => {
  const pipe = join(folder, 'pipe')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  const program = `
    import fs from 'node:fs'
    import { endProcess } from './dist/cli/end-process.js'
    fs.open(${JSON.stringify(pipe)}, 'r', () => undefined)
    endProcess(1)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  await once(child, 'close')
  expect(child.signalCode).toBe('SIGKILL')
})

test('a failure is one line of JSON where JSON is asked for, for wrong flags too', async () => {
  for (const args of [['send', 't', '--json'], ['serve', '--json', '--colour'], ['--json']]) {
    const { code, stdout, stderr } = await runCommand(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'COMMAND_LINE_INVALID', details: { problem: expect.any(String) } },
    })
  }
})

test('wrong flags are named in a sentence', async () => {
  const { code, stderr } = await runCommand(['send', 't', 'b', '--colour'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/^orrery: .* \[COMMAND_LINE_INVALID\]\n {2}problem: .*'--colour'/)
})

test('wrong options of every source are listed at once, with 2', async () => {
  const config = join(folder, 'wrong.json')
  writeFileSync(config, '{"retention":"soon"}')
  const { code, stderr } = await runCommand(
    serveArguments('--config', config, '--flush', 'later', '--timer-store', 'wheel'),
    { env: { ORRERY_LOG_LEVEL: 'loud' } },
  )
  expect(code).toBe(2)
  for (const name of ['retention', 'flush', 'timer.store', 'logLevel']) {
    expect(stderr).toContain(`\n  ${name}: `)
  }
})

test('an unknown flag or command is wrong use, 2; help is none, 0', async () => {
  expect((await runCommand(['serve', '--colour', 'blue'])).code).toBe(2)
  expect((await runCommand(['dance'])).code).toBe(2)
  const help = await runCommand(['serve', '--help'])
  expect(help.code).toBe(0)
  expect(help.stdout).toContain('--timer-delay-ms-max')
})
