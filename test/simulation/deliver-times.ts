import type { SeededRandom } from '../../src/core/platform/simulated/index.ts'
import { PROPERTY } from '../../src/model/message/index.ts'
import type { Wish } from './sender.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** How many timer messages have a late policy. */
const LATE_CHANCE = 0.15

/** Level delays of the setting. */
export const LEVELS_MS: readonly number[] = [
  SECOND_MS,
  5 * SECOND_MS,
  10 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
]

/** A delay level, mostly a short one; also levels that do not exist. */
export function levelWish(random: SeededRandom, topic: string, nowMs: number): Wish {
  const level = random.chance(0.6) ? 1 + random.below(3) : 1 + random.below(LEVELS_MS.length + 2)
  const delayMs = LEVELS_MS[Math.min(level, LEVELS_MS.length) - 1] ?? 0
  return {
    kind: 'level',
    topic,
    delay: [[PROPERTY.DELAY, String(level)]],
    deliverTimeMs: nowMs + delayMs,
  }
}

/**
 * Any of the three properties of a timer message, some with a late policy. A time that has come
 * makes a plain one of it.
 */
export function timerWish(
  random: SeededRandom,
  topic: string,
  times: { readonly nowMs: number; readonly hotMs: number },
): Wish {
  const wish = plainTimerWish(random, topic, times)
  if (wish.kind !== 'timer' || !random.chance(LATE_CHANCE)) return wish
  const onLate = random.pick(['drop', 'deadLetter'] as const)
  const lateAfterMs = random.pick([0, 20, SECOND_MS, MINUTE_MS, HOUR_MS])
  const policy = [
    [PROPERTY.ORRERY_ON_LATE, onLate],
    [PROPERTY.ORRERY_LATE_AFTER_MS, String(lateAfterMs)],
  ] as const
  return { ...wish, delay: [...wish.delay, ...policy], late: { onLate, lateAfterMs } }
}

function plainTimerWish(
  random: SeededRandom,
  topic: string,
  times: { readonly nowMs: number; readonly hotMs: number },
): Wish {
  const { nowMs } = times
  const wanted = deliverTime(random, times)
  const how = random.below(4)
  if (how === 0) {
    const seconds = Math.max(0, Math.round((wanted - nowMs) / SECOND_MS))
    return timer(topic, [PROPERTY.TIMER_DELAY_SEC, seconds], nowMs + seconds * SECOND_MS, nowMs)
  }
  if (how === 1) {
    const delayMs = Math.max(0, wanted - nowMs)
    return timer(topic, [PROPERTY.TIMER_DELAY_MS, delayMs], nowMs + delayMs, nowMs)
  }
  return timer(topic, [PROPERTY.TIMER_DELIVER_MS, wanted], wanted, nowMs)
}

/** The same deliver time for many. */
export function timerWishAt(topic: string, deliverTimeMs: number, nowMs: number): Wish {
  return timer(topic, [PROPERTY.TIMER_DELIVER_MS, deliverTimeMs], deliverTimeMs, nowMs)
}

function timer(
  topic: string,
  [name, value]: readonly [string, number],
  deliverTimeMs: number,
  nowMs: number,
): Wish {
  const isLater = deliverTimeMs > nowMs
  return {
    kind: isLater ? 'timer' : 'plain',
    topic,
    delay: [[name, String(value)]],
    deliverTimeMs: isLater ? deliverTimeMs : 0,
  }
}

function deliverTime(
  random: SeededRandom,
  { nowMs, hotMs }: { readonly nowMs: number; readonly hotMs: number },
): number {
  const choice = random.below(12)
  if (choice === 0) return nowMs - random.below(DAY_MS)
  if (choice === 1) return nowMs + random.below(3)
  if (choice === 2) return nowMs + random.below(100)
  if (choice <= 5) return nowMs + random.below(8 * SECOND_MS)
  if (choice <= 7) return nowMs + random.below(2 * MINUTE_MS)
  if (choice === 8) return border(random, nowMs, random.pick([MINUTE_MS, HOUR_MS, DAY_MS]))
  if (choice === 9) return Math.max(hotMs, nowMs - 1)
  if (choice === 10) return nowMs + random.below(3 * DAY_MS)
  return nowMs + Math.floor(random.fraction() * 100 * DAY_MS)
}

/** A millisecond before, at or behind the next border of a partition. */
function border(random: SeededRandom, nowMs: number, widthMs: number): number {
  return (Math.floor(nowMs / widthMs) + 1 + random.below(3)) * widthMs + random.below(3) - 1
}
