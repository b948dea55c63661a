/** SIGTERM and SIGINT as a promise; a second signal calls `onSecond`, which ends the process. */
export class StopSignal {
  /** Resolves at the first signal. */
  readonly first: Promise<void>
  #received = false

  constructor(onSecond: () => void) {
    this.first = new Promise(resolve => {
      const receive = (): void => {
        if (this.#received) onSecond()
        this.#received = true
        resolve()
      }
      process.on('SIGTERM', receive)
      process.on('SIGINT', receive)
    })
  }
}
