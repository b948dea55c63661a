import { realTopicHash } from '../../../model/message/index.ts'

/** Topics are told apart by so many lanes: two share one with a probability of 1 in 65,536. */
export const LANE_COUNT = 65_536
/** Of messages whose topic nobody has looked at. */
export const LANE_UNKNOWN = 0

/** The lane of a message: all of its topic have the same. `source` holds its accept record. */
export function laneOf(source: Buffer, position: number): number {
  const hash = realTopicHash(source, position)
  return (hash ^ (hash >>> 16)) & (LANE_COUNT - 1)
}
