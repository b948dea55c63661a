import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

import { loadOptions } from '../../src/core/config/index.ts'
import { realPlatform } from '../../src/core/platform/index.ts'
import { PutOutcome, PutRequest } from '../../src/engine/broker/index.ts'
import { encodeHost, formatProperties, PROPERTY } from '../../src/model/message/index.ts'
import { openEngine } from '../../src/server/index.ts'
import { FolderEvidence } from './folder-evidence.ts'

const HOST = encodeHost('127.0.0.1', 10_911)
const HOUR_MS = 3_600_000

let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'orrery-evidence-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true })
})

/** A broker that took in a message for in an hour and stopped. */
async function stoppedBroker(): Promise<void> {
  const platform = realPlatform({ logLevel: 'silent' })
  const flags = { data: directory }
  const engine = await openEngine(loadOptions({ flags }).options, platform, HOST)
  const nowMs = platform.clock.timeMs()
  const request = Object.assign(new PutRequest(), {
    topic: 'orders',
    queueId: 0,
    wishedQueueCount: 1,
    bornTimeMs: nowMs,
    bornHost: HOST,
    body: Buffer.from('hello'),
    bodyStart: 0,
    bodyEnd: 5,
    nowMs,
    properties: formatProperties([[PROPERTY.TIMER_DELIVER_MS, String(nowMs + HOUR_MS)]]),
  })
  engine.broker.put.put(request, new PutOutcome())
  await engine.stop()
}

test('a folder that was left in peace is in no moment', async () => {
  await stoppedBroker()
  const evidence = new FolderEvidence(directory)
  expect([evidence.isInCheckpoint, evidence.isInSplit]).toEqual([false, false])
})

test('a file that is longer than its manifest says is left by a checkpoint', async () => {
  await stoppedBroker()
  const minutes = join(directory, 'orrery/ladder/1min')
  const [name = ''] = readdirSync(minutes)
  appendFileSync(join(minutes, name), 'x')
  const evidence = new FolderEvidence(directory)
  expect([evidence.isInCheckpoint, evidence.isInSplit]).toEqual([true, false])
})

test('a new file of a second whose minute is not split is left by a split', async () => {
  await stoppedBroker()
  const seconds = join(directory, 'orrery/ladder/1s')
  writeFileSync(join(seconds, `${Date.now() - (Date.now() % 1000)}-999`), 'x')
  const evidence = new FolderEvidence(directory)
  expect([evidence.isInCheckpoint, evidence.isInSplit]).toEqual([true, true])
})
