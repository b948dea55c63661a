import type { ConsumerData, Heartbeat } from '../model/wire/index.ts'
import { encodeHeartbeat, REQUEST_CODE } from '../model/wire/index.ts'
import type { RemotingConnection, RemotingRequest } from './remoting-connection.ts'
import { succeeded } from './remoting-connection.ts'

const HEARTBEAT_TIMEOUT_MS = 3_000

/** What brokers must know of this client: its id, its producer group, its consumers. */
export class Presence {
  readonly clientId: string
  readonly #producerGroup: string
  readonly #consumers = new Map<string, ConsumerData>()

  constructor(clientId: string, producerGroup: string) {
    this.clientId = clientId
    this.#producerGroup = producerGroup
  }

  join(consumer: ConsumerData): void {
    this.#consumers.set(consumer.group, consumer)
  }

  leave(group: string): void {
    this.#consumers.delete(group)
  }

  /** Sends a heartbeat and waits for the answer. */
  async announce(connection: RemotingConnection): Promise<void> {
    const body = encodeHeartbeat(this.#heartbeat())
    const request = { code: REQUEST_CODE.HEART_BEAT, body }
    succeeded(await connection.request(request, { timeoutMs: HEARTBEAT_TIMEOUT_MS }))
  }

  /** Tells the broker that a consumer group, or the producer when there is none, is gone. */
  farewell(consumerGroup: string | undefined): RemotingRequest {
    const groups =
      consumerGroup === undefined ? { producerGroup: this.#producerGroup } : { consumerGroup }
    return {
      code: REQUEST_CODE.UNREGISTER_CLIENT,
      extFields: { clientID: this.clientId, ...groups },
    }
  }

  #heartbeat(): Heartbeat {
    return {
      clientId: this.clientId,
      fingerprint: 0,
      withoutSubscriptions: false,
      producerGroups: [this.#producerGroup],
      consumers: Array.from(this.#consumers.values()),
    }
  }
}
