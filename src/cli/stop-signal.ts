/** When to stop: at SIGTERM, SIGINT or `raise`. A second signal calls `onSecond`. */
export class StopSignal {
  /** Resolves at the first signal. */
  readonly first: Promise<void>
  readonly #onSecond: () => void
  #resolve: (() => void) | undefined
  #isRaised = false

  constructor(onSecond: () => void) {
    this.#onSecond = onSecond
    this.first = new Promise(resolve => {
      this.#resolve = resolve
    })
    const receive = (): void => {
      if (this.#isRaised) this.#onSecond()
      else this.raise()
    }
    process.on('SIGTERM', receive)
    process.on('SIGINT', receive)
  }

  /** As the first signal does. */
  raise(): void {
    this.#isRaised = true
    this.#resolve?.()
  }
}
