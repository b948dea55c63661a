import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import {
  BLANK_MAGIC,
  checkRecord,
  recordBodyEnd,
  recordBodyStart,
  recordMagic,
  recordTopic,
} from '../../src/model/message/index.ts'
import { idOf, KINDS, topicOf } from './ledger.ts'

/** Follows the commit log of a broker while it is dead. */
export class LogTail {
  readonly #directory: string
  #base = 0
  #position = 0

  constructor(dataDirectory: string) {
    this.#directory = join(dataDirectory, 'commitlog')
  }

  /** Ids of what was stored in its topic since the last call, in order. */
  readPublished(): readonly number[] {
    const ids: number[] = []
    for (;;) {
      const path = join(this.#directory, String(this.#base).padStart(20, '0'))
      if (!existsSync(path)) return ids
      const isAtEnd = this.#readSegment(readFileSync(path), ids)
      if (!isAtEnd) return ids
      this.#base += statSync(path).size
      this.#position = 0
    }
  }

  /** True when the segment holds no more. */
  #readSegment(bytes: Buffer, ids: number[]): boolean {
    const topics = new Set(KINDS.map(topicOf))
    for (;;) {
      const at = this.#position
      if (at + 8 > bytes.length || recordMagic(bytes, at) === BLANK_MAGIC) return true
      const check = checkRecord(bytes, at, bytes.length)
      if (check.kind !== 'record') return false
      this.#position += check.size
      if (!topics.has(recordTopic(bytes, at))) continue
      const id = idOf(bytes.subarray(recordBodyStart(bytes, at), recordBodyEnd(bytes, at)))
      if (id !== undefined) ids.push(id)
    }
  }
}
