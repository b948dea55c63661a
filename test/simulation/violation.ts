/** A rule of section 7 of the architecture that did not hold. */
export class Violation extends Error {
  override readonly name = 'Violation'
  /** Number of the invariant; 0: the broker stopped working. */
  readonly invariant: number

  constructor(invariant: number, message: string) {
    super(message)
    this.invariant = invariant
  }
}
