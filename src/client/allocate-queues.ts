/**
 * A member's share of queues that all members divide evenly, in order: RocketMQ's strategy AVG,
 * so that members of other kinds come to the same division.
 *
 * `members` and `queues` must be sorted in the same way everywhere. Empty when `member` is not
 * among the members.
 */
export function allocateQueues<Q>(
  member: string,
  members: readonly string[],
  queues: readonly Q[],
): readonly Q[] {
  const index = members.indexOf(member)
  if (index < 0) return []
  const share = Math.floor(queues.length / members.length)
  const rest = queues.length % members.length
  const start = index * share + Math.min(index, rest)
  return queues.slice(start, start + share + (index < rest ? 1 : 0))
}
