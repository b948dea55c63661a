import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as layout from './record-layout.ts'
import { sealedRecord } from './testing.ts'
import { checkRecord, decodeRecord } from './index.ts'

const page = readFileSync(new URL('../../../docs/formats/commit-log.md', import.meta.url), 'utf8')

/** The bytes of each example: what stands before two blanks, or all hex before the words. */
function examples(): Buffer[] {
  return Array.from(page.matchAll(/```hex\n([^`]*)```/g), ([, block = '']) =>
    Buffer.concat(block.split('\n').map(bytesOfLine)),
  )
}

function bytesOfLine(line: string): Buffer {
  const hex = /^(?:[\da-f]{2})+(?: (?:[\da-f]{2})+(?= ))*/.exec(line)?.[0] ?? ''
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

describe('docs/formats/commit-log.md', () => {
  test('shows a record that is whole and says what the page says', () => {
    const [record = Buffer.alloc(0)] = examples()
    expect(checkRecord(record, 0, record.length)).toEqual({ kind: 'record', size: 143 })
    expect(decodeRecord(record, 0)).toMatchObject({
      topic: 'TopicTest',
      body: Buffer.from('hello'),
      queueId: 1,
      queueOffset: 7,
      commitLogOffset: 12_345,
      bornTimeMs: 1_700_000_000_000,
      bornHost: { host: '192.168.1.9', port: 50_000 },
      storeTimeMs: 1_700_000_000_005,
      storeHost: { host: '192.168.1.2', port: 10_911 },
      properties: new Map([
        ['KEYS', 'k1'],
        ['TAGS', 'TagA'],
      ]),
    })
  })

  test('shows the bytes that we write for that message', () => {
    const [record] = examples()
    expect(sealedRecord({}).toString('hex')).toBe(record?.toString('hex'))
  })

  test('shows the blank end of a segment', () => {
    const [, blank = Buffer.alloc(0)] = examples()
    expect(blank).toHaveLength(layout.BLANK_HEADER_SIZE_BYTES)
    expect(checkRecord(blank, 0, blank.length)).toEqual({ kind: 'blank', size: 4096 })
  })

  test('names the positions that the code uses', () => {
    const rows = page.matchAll(/^\| (\d+) \| [^|]+ \| (\w+) \|/gm)
    const positions = new Map(Array.from(rows, ([, position, name]) => [name, Number(position)]))
    const hostsEnd = layout.RECORD_BORN_HOST + 8 + layout.STORE_TIME_SIZE_BYTES + 8
    expect(Object.fromEntries(positions)).toEqual({
      totalSize: layout.RECORD_SIZE,
      magic: layout.RECORD_MAGIC,
      bodyCRC: layout.RECORD_BODY_CRC,
      queueId: layout.RECORD_QUEUE_ID,
      flag: layout.RECORD_FLAG,
      queueOffset: layout.RECORD_QUEUE_OFFSET,
      physicalOffset: layout.RECORD_COMMIT_LOG_OFFSET,
      sysFlag: layout.RECORD_SYS_FLAG,
      bornTimestamp: layout.RECORD_BORN_TIME,
      bornHost: layout.RECORD_BORN_HOST,
      storeTimestamp: layout.RECORD_BORN_HOST + 8,
      storeHost: layout.RECORD_BORN_HOST + 8 + layout.STORE_TIME_SIZE_BYTES,
      reconsumeTimes: hostsEnd,
      preparedTransactionOffset: hostsEnd + layout.PREPARED_OFFSET_AFTER_HOSTS,
      bodySize: hostsEnd + layout.BODY_SIZE_AFTER_HOSTS,
      body: hostsEnd + layout.BODY_AFTER_HOSTS,
    })
  })
})
