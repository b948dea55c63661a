/** What the crash test asks of a client. */
export interface Door {
  /** Resolves when the broker has accepted the message; one attempt, never repeated. */
  send(message: OutgoingMessage): Promise<void>
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
