import { assert, BrokerError } from '../../core/base/index.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const LEVEL = /^([1-9]\d{0,8})([smhd])$/
const LEVEL_COUNT_MAX = 64

export const DEFAULT_DELAY_LEVELS = '1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h'

/**
 * Milliseconds per level, that of level 1 first. Levels need not ascend.
 *
 * Errors: OPTION_INVALID, which names the first wrong level.
 */
export function parseDelayLevels(text: string): readonly number[] {
  const words = text.trim().split(/\s+/)
  if (words.length > LEVEL_COUNT_MAX) {
    throw optionInvalid(`${words.length} levels`, `1 to ${LEVEL_COUNT_MAX} levels`)
  }
  return words.map(parseLevel)
}

/** How long a level waits. A level above the highest waits as long as that. */
export function delayLevelMs(levelsMs: readonly number[], level: number): number {
  assert(Number.isInteger(level) && level >= 1, 'a delay level is 1 or more')
  const delayMs = levelsMs[Math.min(level, levelsMs.length) - 1]
  assert(delayMs !== undefined, 'a table of delay levels must not be empty')
  return delayMs
}

function parseLevel(word: string): number {
  const [, digits, unit = ''] = LEVEL.exec(word) ?? []
  const factor = UNIT_MS[unit]
  if (factor === undefined) {
    throw optionInvalid(JSON.stringify(word.slice(0, 64)), 'a number from 1 on with s, m, h or d')
  }
  return Number(digits) * factor
}

function optionInvalid(found: string, expected: string): BrokerError {
  return new BrokerError('OPTION_INVALID', { option: 'messageDelayLevel', found, expected })
}
