/** How often each thing happened, by name. */
export class Totals {
  readonly counts = new Map<string, number>()

  add(name: string, count = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + count)
  }

  addAll(other: Iterable<readonly [string, number]>): void {
    for (const [name, count] of other) this.add(name, count)
  }
}
