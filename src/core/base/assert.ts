/** A broken invariant of our own: the process must stop. Never caught to carry on. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** Stops with an `InvariantError` unless `condition` holds. For what only we can get wrong. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
