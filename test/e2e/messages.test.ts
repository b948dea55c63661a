import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BuiltCommand, runCommand, type Outcome } from './built-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
let server: BuiltCommand
let address = ''
let brokerAddress = ''

beforeAll(async () => {
  const ports = ['--nameserver-port', '0', '--remoting-port', '0']
  server = new BuiltCommand(['serve', '--json', '--data', folder, ...ports])
  const ready = await server.firstLine()
  address = /"nameserver":"([^"]+)"/.exec(ready)?.[1] ?? ''
  brokerAddress = /"remoting":"([^"]+)"/.exec(ready)?.[1] ?? ''
})

afterAll(async () => {
  server.signal('SIGTERM')
  const { code, stderr } = await server.outcome()
  rmSync(folder, { recursive: true })
  expect({ code, stderr }).toMatchObject({ code: 0 })
})

function send(topic: string, body: string, ...flags: readonly string[]): Promise<Outcome> {
  return runCommand(['send', topic, body, '--server', address, '--json', ...flags])
}

function consume(topic: string, ...flags: readonly string[]): Promise<Outcome> {
  return runCommand(['consume', topic, '--group', 'e2e', '--server', address, ...flags])
}

interface Printed {
  readonly body: string
  readonly storeTimeMs: number
  readonly recallHandle?: string
}

function printed({ code, stdout, stderr }: Outcome): readonly Printed[] {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines: unknown[] = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the expectations check it
  return lines as Printed[]
}

test('a message keeps body, tag, key and properties from send to consume', async () => {
  const flags = ['--tag', 'red', '--key', 'order-42', '--property', 'colour=blue=green']
  const [sent] = printed(await send('plain', 'grüße\nzwei', ...flags))
  expect(sent).toMatchObject({ topic: 'plain' })
  const [received] = printed(await consume('plain', '--max', '1', '--json'))
  expect(received).toMatchObject({
    topic: 'plain',
    body: 'grüße\nzwei',
    tag: 'red',
    keys: ['order-42'],
    properties: { colour: 'blue=green' },
  })
})

function scheduled(...args: readonly string[]): Promise<Outcome> {
  return runCommand(['scheduled', ...args, '--server', address, '--json'])
}

async function waitingId(body: string): Promise<string> {
  const [sent] = printed(await send('waiting', body, '--delay', '1h'))
  return sent?.recallHandle ?? ''
}

test('what waits is cancelled, moved or delivered by its id', async () => {
  const ids = [await waitingId('cancelled'), await waitingId('moved'), await waitingId('delivered')]
  const [cancelled = '', moved = '', delivered = ''] = ids
  expect(printed(await scheduled('cancel', cancelled))).toEqual([{ outcome: 'cancelled' }])
  const [answer] = printed(await scheduled('move', moved, '--delay', '300ms'))
  expect(answer).toMatchObject({ outcome: 'moved', deliverTimeMs: expect.any(Number) })
  printed(await scheduled('deliver', delivered))
  const received = printed(await consume('waiting', '--max', '2', '--json'))
  expect(received.map(({ body }) => body).toSorted()).toEqual(['delivered', 'moved'])
  const late = await scheduled('cancel', moved)
  expect(late).toMatchObject({ code: 1, stdout: '' })
  expect(late.stderr).toContain('"code":"NOT_WAITING"')
  expect(late.stderr).toContain('too-late')
})

test.each([
  [['scheduled', 'cancel', 'nonsense'], 'MESSAGE_ID_INVALID'],
  [['scheduled', 'move', 'djEgVCBicm9rZXItYSAxNzAwMDAwMDAwMDAxIDdGMDAwMDAxQUJD'], '--delay'],
])('%j is refused before anything is asked', async (args, words) => {
  const { code, stderr } = await runCommand([...args, '--server', address])
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})

test('delay, time and level all deliver, and none early', async () => {
  const startMs = Date.now()
  const dueMs: Record<string, number> = {
    at: startMs + 3000,
    delay: startMs + 2000,
    level: startMs + 1000,
    now: startMs,
  }
  printed(await send('later', 'at', '--at', String(dueMs['at'])))
  printed(await send('later', 'delay', '--delay', '2s'))
  printed(await send('later', 'level', '--level', '1'))
  printed(await send('later', 'now'))
  const received = printed(await consume('later', '--max', '4', '--json'))
  const early = received.filter(({ body, storeTimeMs }) => storeTimeMs < (dueMs[body] ?? Infinity))
  expect(received.map(({ body }) => body).toSorted()).toEqual(['at', 'delay', 'level', 'now'])
  expect(early).toEqual([])
})

test('a group goes on where its last consumer ended', async () => {
  for (const body of ['1', '2', '3']) printed(await send('resumed', body))
  const first = printed(await consume('resumed', '--max', '2', '--json'))
  const rest = printed(await consume('resumed', '--max', '1', '--json'))
  const bodies = [...first, ...rest].map(({ body }) => body)
  expect(bodies.toSorted()).toEqual(['1', '2', '3'])
})

test('consume ends with 0 on SIGTERM', async () => {
  const consumer = new BuiltCommand(['consume', 'plain', '--group', 'other', '--server', address])
  expect(await consumer.firstLine()).toBe('grüße')
  consumer.signal('SIGTERM')
  expect((await consumer.outcome()).code).toBe(0)
})

test('a deliver time beyond the limit is refused with 1 and the reason', async () => {
  const { code, stderr } = await send('later', 'x', '--delay', '5000d')
  expect(code).toBe(1)
  expect(stderr).toContain('timer.delayMsMax')
})

test('the same mistake ends send and consume with the same code', async () => {
  for (const topic of ['', 'a b']) {
    const sent = await send(topic, 'x')
    const consumed = await consume(topic, '--json')
    expect([sent.code, consumed.code]).toEqual([2, 2])
    expect(sent.stderr).toBe(consumed.stderr)
    expect(sent.stderr).toContain('"code":"TOPIC_NAME_INVALID"')
  }
})

test('what the broker refuses has its own code and details', async () => {
  const { code, stderr } = await send('SCHEDULE_TOPIC_XXXX', 'x')
  expect(code).toBe(1)
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'TOPIC_RESERVED' } })
})

test('the address of a broker in the place of a name server is told apart with 2', async () => {
  for (const args of [
    ['send', 't', 'b'],
    ['consume', 't', '--group', 'g'],
  ]) {
    const { code, stderr } = await runCommand([...args, '--server', brokerAddress])
    expect(code).toBe(2)
    expect(stderr).toContain(`[NOT_A_NAME_SERVER]\n  address: ${brokerAddress}`)
  }
})

test('consume says once that the topic does not exist yet, and waits for it', async () => {
  const args = ['consume', 'coming', '--group', 'e2e', '--server', address, '--max', '1']
  const consumer = new BuiltCommand(args)
  await consumer.firstComplaint()
  printed(await send('coming', 'here'))
  expect(await consumer.outcome()).toEqual({
    code: 0,
    stdout: 'here\n',
    stderr: 'orrery: the topic coming does not exist yet; waiting for it\n',
  })
})

test('a server that is not there is told apart with 3', async () => {
  const { code, stderr } = await runCommand(['send', 't', 'b', '--server', '127.0.0.1:1'])
  expect(code).toBe(3)
  expect(stderr).toContain('[CONNECT_FAILED]')
})
