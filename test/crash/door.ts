/** What the crash test asks of a client. */
export interface Door {
  /**
   * Resolves when the broker has accepted the message; one attempt, never repeated. To its id when
   * it waits and can be changed.
   */
  send(message: OutgoingMessage): Promise<string | undefined>
  /** Cancels a message that waits; whether it is cancelled now. */
  cancel(topic: string, id: string): Promise<boolean>
  /** Moves a message that waits; its new deliver time, or `undefined` when it was not moved. */
  move(id: string, delayMs: number): Promise<number | undefined>
  queueCount(topic: string): Promise<number>
  /** The records from `queueOffset` on, as many as one answer holds; none at the end. */
  read(topic: string, queueId: number, queueOffset: number): Promise<Page>
  /** One past the last record of a queue. */
  maxOffset(topic: string, queueId: number): Promise<number>
  close(): Promise<void>
}

export interface OutgoingMessage {
  readonly topic: string
  readonly body: Buffer
  readonly level?: number
  readonly delayMs?: number
  readonly deliverTimeMs?: number
}

export interface Page {
  readonly records: readonly StoredRecord[]
  readonly nextOffset: number
}

export interface StoredRecord {
  readonly queueOffset: number
  readonly storeTimeMs: number
  readonly body: Uint8Array
}
