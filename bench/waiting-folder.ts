import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { loadOptions } from '../src/core/config/index.ts'
import { BrokerError } from '../src/core/base/index.ts'
import { realPlatform } from '../src/core/platform/index.ts'
import {
  appendProperty,
  encodeHost,
  PROPERTY,
  type RecordDraft,
  TIMER_ACCEPT_QUEUE,
  TIMER_TOPIC,
} from '../src/model/message/index.ts'
import { type Engine, openEngine } from '../src/server/engine.ts'

const HOST = encodeHost('127.0.0.1', 10_911)
const BODY = Buffer.from('12345678')
/** Appended before the store gets a turn. */
const BATCH_COUNT = 500
const SAID_EVERY = 5_000_000

export interface WaitingFolder {
  readonly directory: string
  readonly count: number
  /** Deliver time of the message with this number. */
  readonly deliverTimeMs: (index: number) => number
  readonly say: (line: string) => void
}

/**
 * Fills a data folder with small waiting messages, records below 200 bytes, in this process and by
 * the broker's own store and ladder, without the doors: a hundred million take minutes.
 */
export async function fillWaiting(folder: WaitingFolder): Promise<void> {
  const flags = { data: folder.directory, flush: 'async', messageIndexEnable: 'off' }
  const { options } = loadOptions({ flags })
  const engine = await openEngine(options, realPlatform({ logLevel: 'warn' }), HOST)
  try {
    await appendAll(engine, folder)
  } finally {
    await engine.stop()
  }
}

async function appendAll(engine: Engine, folder: WaitingFolder): Promise<void> {
  const { store } = engine
  const queue = store.queue(TIMER_TOPIC, TIMER_ACCEPT_QUEUE)
  const draft = emptyDraft()
  for (let index = 0; index < folder.count;) {
    if (store.congested) {
      await sleep(1)
      continue
    }
    const end = Math.min(folder.count, index + BATCH_COUNT)
    try {
      for (; index < end; index++) {
        const deliverTimeMs = folder.deliverTimeMs(index)
        draft.properties = propertiesOf(index, deliverTimeMs)
        store.append(draft, queue, deliverTimeMs, Date.now())
        if ((index + 1) % SAID_EVERY === 0) folder.say(`${index + 1} written`)
      }
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== 'STORE_BUSY') throw error
    }
    await turn()
  }
  await store.whenApplied(store.endOffset - 1)
}

function emptyDraft(): RecordDraft {
  return {
    topic: Buffer.from(TIMER_TOPIC),
    queueId: TIMER_ACCEPT_QUEUE,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: Date.now(),
    bornHost: HOST,
    storeHost: HOST,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: BODY,
    bodyStart: 0,
    bodyEnd: BODY.length,
    properties: '',
  }
}

function propertiesOf(index: number, deliverTimeMs: number): string {
  const key = appendProperty('', PROPERTY.UNIQ_KEY, index.toString(36))
  const topic = appendProperty(key, PROPERTY.REAL_TOPIC, 'backlog')
  const queue = appendProperty(topic, PROPERTY.REAL_QID, String(index % 8))
  return appendProperty(queue, PROPERTY.TIMER_OUT_MS, String(deliverTimeMs))
}
