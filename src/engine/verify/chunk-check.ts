import type { File, Files } from '../../core/platform/index.ts'
import {
  findProperty,
  PROPERTY,
  recordCommitLogOffset,
  recordProperties,
} from '../../model/message/index.ts'
import {
  CHUNK_HEADER_BYTES,
  type ChunkSection,
  checkTimerRecord,
  chunkHeaderDamage,
  isMarkSound,
  looksLikeTimerHeader,
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerMark,
  timerMarkPosition,
  timerRecordStart,
} from '../timer/index.ts'
import { RECORD_BYTES_MAX } from '../store/index.ts'
import type { Findings } from './findings.ts'

const BLOCK_BYTES = 1024 * 1024

export interface ChunkPlace {
  readonly path: string
  readonly section: ChunkSection
  /** Deliver times lie in here, the end not included; `undefined` for a parked chunk. */
  readonly partition: { readonly startMs: number; readonly endMs: number } | undefined
}

export interface ChunkChecks {
  readonly files: Files
  readonly findings: Findings
  /** After an unclean stop the marks may be newer than the manifest. */
  readonly isClean: boolean
  readonly progress: (bytes: number) => void
}

/** Reads one chunk that the manifest names. See docs/formats/timer-chunk.md. */
export class ChunkCheck {
  count = 0
  readonly #place: ChunkPlace
  readonly #all: ChunkChecks
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #doneCount = 0
  #removedCount = 0
  #dueMinMs = Infinity
  #dueMaxMs = -Infinity
  #timerIdMin = Infinity
  /** Some messages could not be counted. */
  #isDamaged = false
  #isDoneSeen = false

  constructor(place: ChunkPlace, all: ChunkChecks) {
    this.#place = place
    this.#all = all
  }

  async run(): Promise<void> {
    const { path, section } = this.#place
    const { files, findings } = this.#all
    const size = (await files.sizeOf(path)) ?? 0
    const end = Math.min(size, section.sizeBytes)
    if (size < section.sizeBytes) {
      this.#damage([size, section.sizeBytes], 'the file of waiting messages is missing or cut off')
    }
    if (size > section.sizeBytes) {
      findings.note(path, [section.sizeBytes, size], 'bytes that the manifest does not name')
    }
    if (end === 0) return
    const file = await files.open(path, 'read')
    try {
      await this.#readHeader(file, end)
      await this.#readMessages(file, end)
    } finally {
      await file.close()
    }
    if (!this.#isDamaged) this.#compareCounts()
  }

  async #readHeader(file: File, end: number): Promise<void> {
    const header = Buffer.alloc(CHUNK_HEADER_BYTES)
    await file.read(header, 0)
    if (end < CHUNK_HEADER_BYTES) return
    const reason = chunkHeaderDamage(header, this.#place.section.number)
    if (reason === undefined) return
    const range = [0, CHUNK_HEADER_BYTES] as const
    this.#all.findings.damage(file.path, range, `the header of the chunk is damaged: ${reason}`)
  }

  async #readMessages(file: File, end: number): Promise<void> {
    let position = CHUNK_HEADER_BYTES
    let wanted = BLOCK_BYTES
    while (position < end) {
      const length = Math.min(wanted, end - position)
      if (length > this.#block.length) this.#block = Buffer.allocUnsafeSlow(length)
      const got = await file.read(this.#block.subarray(0, length), position)
      const isLast = position + got >= end || got < length
      const outcome = this.#readBlock({ start: position, length: got, isLast })
      position += outcome.doneBytes
      wanted = Math.max(BLOCK_BYTES, outcome.needsBytes)
      this.#all.progress(outcome.doneBytes)
      if (got === 0) return
    }
    if (position === this.#place.section.doneBytes) this.#isDoneSeen = true
  }

  #readBlock(at: { start: number; length: number; isLast: boolean }): {
    doneBytes: number
    needsBytes: number
  } {
    const { start, length, isLast } = at
    let position = 0
    while (position < length) {
      if (start + position === this.#place.section.doneBytes) this.#isDoneSeen = true
      const check = checkTimerRecord(this.#block, position, length)
      if (check.kind === 'record') {
        this.#message(position, start + position, check.size)
        position += check.size
        continue
      }
      const isLong = check.kind === 'cut' && check.needsBytes > RECORD_BYTES_MAX
      if (check.kind === 'cut' && !isLast && !isLong) {
        return { doneBytes: position, needsBytes: check.needsBytes }
      }
      const size = check.kind === 'damaged' ? check.size : undefined
      const isSized = size !== undefined && size >= TIMER_HEADER_BYTES && position + size <= length
      const next = isSized ? position + size : this.#nextHeader(position + 1, length, isLast)
      const reason = check.kind === 'damaged' ? check.reason : 'the file ends inside'
      this.#damage([start + position, start + next], `a waiting message is damaged: ${reason}`)
      position = next
    }
    return { doneBytes: position, needsBytes: 0 }
  }

  /** Where a message begins; of the last bytes, in which a header may begin, the next block tells. */
  #nextHeader(from: number, length: number, isLast: boolean): number {
    const end = length - TIMER_HEADER_BYTES + 1
    for (let next = from; next < end; next++) {
      if (!looksLikeTimerHeader(this.#block, next)) continue
      const check = checkTimerRecord(this.#block, next, length)
      if (check.kind === 'record' || (check.kind === 'cut' && !isLast)) return next
    }
    return isLast ? length : Math.max(from, end)
  }

  #message(at: number, position: number, size: number): void {
    const { section, partition, path } = this.#place
    const block = this.#block
    const deliverTimeMs = timerDeliverTimeMs(block, at)
    this.count++
    if (position < section.doneBytes) this.#doneCount++
    else if (timerMark(block, at) !== 'waits') this.#removedCount++
    this.#dueMinMs = Math.min(this.#dueMinMs, deliverTimeMs)
    this.#dueMaxMs = Math.max(this.#dueMaxMs, deliverTimeMs)
    this.#timerIdMin = Math.min(this.#timerIdMin, timerIdOf(block, at))
    const header = [position, position + TIMER_HEADER_BYTES] as const
    if (!isMarkSound(block, at)) {
      const mark = [timerMarkPosition(position), timerRecordStart(position)] as const
      this.#all.findings.damage(path, mark, 'the mark of a waiting message is damaged')
    }
    const { startMs, endMs } = partition ?? { startMs: -Infinity, endMs: Infinity }
    if (deliverTimeMs < startMs || deliverTimeMs >= endMs) {
      this.#all.findings.damage(path, header, 'a deliver time outside the partition')
    }
    if (size > TIMER_HEADER_BYTES) this.#compareRecord(at, header)
  }

  /** The header repeats what the accept record says. */
  #compareRecord(at: number, header: readonly [number, number]): void {
    const { path, partition } = this.#place
    const block = this.#block
    const record = timerRecordStart(at)
    if (recordCommitLogOffset(block, record) !== timerIdOf(block, at)) {
      this.#all.findings.damage(path, header, 'the accept record has another commit log offset')
    }
    if (partition === undefined) return
    const outMs = findProperty(recordProperties(block, record), PROPERTY.TIMER_OUT_MS)
    if (Number(outMs) !== timerDeliverTimeMs(block, at)) {
      this.#all.findings.damage(path, header, 'the accept record has another deliver time')
    }
  }

  #compareCounts(): void {
    const { section, partition, path } = this.#place
    const whole = [0, section.sizeBytes] as const
    const isParked = partition === undefined
    const wrong: string[] = []
    if (this.count !== section.count) wrong.push('count')
    if (!this.#isDoneSeen) wrong.push('doneBytes')
    else if (!isParked && this.#doneCount !== section.doneCount) wrong.push('doneCount')
    if (this.count > 0 && this.#dueMinMs !== section.dueMinMs) wrong.push('dueMinMs')
    if (this.count > 0 && this.#dueMaxMs !== section.dueMaxMs) wrong.push('dueMaxMs')
    const isIdKnown = this.count > 0 && section.timerIdMin > 0
    if (isIdKnown && this.#timerIdMin !== section.timerIdMin) wrong.push('timerIdMin')
    const isCounted = this.#all.isClean && !isParked
    if (isCounted && this.#removedCount !== section.removedCount) {
      // After a crash marks may be older than the count: it serves statistics only.
      this.#all.findings.note(
        path,
        whole,
        'the manifest counts other messages as cancelled or moved',
      )
    }
    if (wrong.length === 0) return
    this.#all.findings.damage(path, whole, `the manifest says otherwise: ${wrong.join(', ')}`)
  }

  #damage(range: readonly [number, number], what: string): void {
    this.#isDamaged = true
    this.#all.findings.damage(this.#place.path, range, what)
  }
}
