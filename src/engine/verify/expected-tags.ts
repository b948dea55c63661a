import {
  findProperty,
  PROPERTY,
  recordProperties,
  recordStoreTimeMs,
  SCHEDULE_TOPIC,
  tagsCodeOf,
  TIMER_TOPIC,
} from '../../model/message/index.ts'
import { timerTagsCode } from '../timer/index.ts'

/**
 * What the unit of a record has in the place of the tags code, except for delay levels: there it is
 * the store time and the delay of the level, which the record does not say.
 */
export function expectedTagsCode(
  source: Buffer,
  position: number,
  queue: { readonly topic: string; readonly queueId: number },
): number {
  const properties = recordProperties(source, position)
  if (queue.topic !== TIMER_TOPIC) return tagsCodeOf(findProperty(properties, PROPERTY.TAGS))
  return timerTagsCode(properties, queue.queueId)
}

/**
 * Judges the due times of one delay level. The table of delays may have been another when a message
 * was accepted, so a delay is also believed when the message before or behind has the same.
 */
export class LevelDelays {
  readonly #levelMs: number | undefined
  #beforeMs: number | undefined
  #doubtful: { readonly delayMs: number; readonly queueOffset: number } | undefined

  /** `levelMs` is the delay in force, if it is known. */
  constructor(levelMs: number | undefined) {
    this.#levelMs = levelMs
  }

  static isLevel(topic: string): boolean {
    return topic === SCHEDULE_TOPIC
  }

  /** Returns the queue offset of an earlier message whose due time turned out to be wrong. */
  next(
    dueMs: number,
    at: { readonly source: Buffer; readonly position: number; readonly queueOffset: number },
  ): number | undefined {
    const delayMs = dueMs - recordStoreTimeMs(at.source, at.position)
    const doubtful = this.#doubtful
    this.#doubtful = undefined
    const isKnown = delayMs === this.#levelMs || delayMs === this.#beforeMs
    this.#beforeMs = delayMs
    if (!isKnown && doubtful?.delayMs !== delayMs) {
      this.#doubtful = { delayMs, queueOffset: at.queueOffset }
    }
    return doubtful?.delayMs === delayMs ? undefined : doubtful?.queueOffset
  }

  /** The same of the last message. */
  end(): number | undefined {
    return this.#doubtful?.queueOffset
  }
}
