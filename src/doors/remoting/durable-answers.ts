import type { RemotingConnection } from './connection.ts'

/** What is asked of the store. */
export interface AppliedLog {
  readonly appliedOffset: number
  readonly congested: boolean
  onApplied(listener: () => void): () => void
  onFailed(listener: () => void): () => void
}

/**
 * Between accepting and answering: holds answers back until the log is flushed, and stops reading
 * from clients that send while the log cannot keep up.
 */
export class DurableAnswers {
  readonly #log: AppliedLog
  readonly #holding = new Set<RemotingConnection>()
  readonly #paused = new Set<RemotingConnection>()
  readonly #stopListening: readonly (() => void)[]

  constructor(log: AppliedLog) {
    this.#log = log
    this.#stopListening = [
      log.onApplied(() => {
        this.#applied()
      }),
      log.onFailed(() => {
        this.#failed()
      }),
    ]
  }

  /** To be called after each chunk of requests. */
  chunkEnded(connection: RemotingConnection): void {
    if (connection.isClosed) return
    if (!connection.held.isEmpty) this.#holding.add(connection)
    if (this.#log.congested && !this.#paused.has(connection)) {
      this.#paused.add(connection)
      connection.setCongested(true)
    }
  }

  forget(connection: RemotingConnection): void {
    this.#holding.delete(connection)
    this.#paused.delete(connection)
  }

  stop(): void {
    for (const stop of this.#stopListening) stop()
  }

  #applied(): void {
    const { appliedOffset, congested } = this.#log
    for (const connection of this.#holding) {
      connection.release(appliedOffset)
      if (connection.held.isEmpty) this.#holding.delete(connection)
    }
    if (congested || this.#paused.size === 0) return
    const paused = [...this.#paused]
    this.#paused.clear()
    for (const connection of paused) connection.setCongested(false)
  }

  /** Nobody knows what is on disk: the clients must not hear of success, nor of failure. */
  #failed(): void {
    for (const connection of [...this.#holding]) connection.destroy()
  }
}
