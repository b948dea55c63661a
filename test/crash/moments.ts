import type { SeededRandom } from './seeded-random.ts'

/** What a broker can be in the middle of when it is killed. */
export const MOMENTS = ['load', 'split', 'checkpoint', 'herd', 'cancels', 'recovery'] as const
export type Moment = (typeof MOMENTS)[number]

/** Of so many kills at least one must have hit each moment. */
const KILLS_PER_HIT = 10
/** A run of fewer kills tries each moment, and may miss one. */
const KILLS_MIN = 40

export interface Score {
  aimedCount: number
  /** Kills that were in the moment, by what they left behind. */
  hitCount: number
}

/** Which moments were aimed at, and which were hit. */
export class MomentTally {
  readonly #scores = new Map<Moment, Score>(
    MOMENTS.map(moment => [moment, { aimedCount: 0, hitCount: 0 }]),
  )

  get scores(): ReadonlyMap<Moment, Readonly<Score>> {
    return this.#scores
  }

  get killCount(): number {
    return [...this.#scores.values()].reduce((sum, { aimedCount }) => sum + aimedCount, 0)
  }

  add(moment: Moment, isHit: boolean): void {
    const score = this.#scores.get(moment)
    if (score === undefined) return
    score.aimedCount++
    if (isHit) score.hitCount++
  }

  /** Least number of hits of each moment for a run of so many kills; 0 for a short one. */
  static hitCountMin(killCount: number): number {
    return killCount < KILLS_MIN ? 0 : Math.floor(killCount / KILLS_PER_HIT)
  }

  /** What to aim at next: what was hit least, and of that what was tried least. */
  next(random: SeededRandom): Moment {
    const scores = [...this.#scores]
    const hitCount = Math.min(...scores.map(([, score]) => score.hitCount))
    const rare = scores.filter(([, score]) => score.hitCount === hitCount)
    const aimedCount = Math.min(...rare.map(([, score]) => score.aimedCount))
    const untried = rare.filter(([, score]) => score.aimedCount === aimedCount)
    const [first = 'load', ...others] = untried.map(([moment]) => moment)
    return random.pick([first, ...others])
  }
}
