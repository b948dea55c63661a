import type { Log } from '../../core/platform/index.ts'
import type { TopicTable } from '../../engine/broker/index.ts'
import type { Access } from '../../model/access/index.ts'
import {
  REQUEST_CODE,
  requestCodeName,
  RESPONSE_CODE,
  type Header,
} from '../../model/wire/index.ts'
import { clusterInfoAnswer, topicRouteAnswer, type NameServerReply } from './route-answer.ts'

/** Different codes that are logged when they are refused. */
const LOGGED_CODES_MAX = 100

/** A request as the connection of any door of the remoting protocol hands it over. */
export interface NameServerRequest {
  readonly header: Pick<Header, 'code' | 'extFields'>
  /** `localHost`: the address of ours that the client reached. */
  readonly connection: { readonly localHost: string; readonly remoteHost: string }
}

export interface NameServerParts {
  readonly topics: TopicTable
  readonly access: Access
  readonly log: Log
  readonly brokerName: string
  readonly clusterName: string
  /** The port on which the broker listens. */
  readonly brokerPort: number
  /**
   * `host:port` that clients are to use. `undefined`: the address through which each client
   * reached the name server, with the broker's port.
   */
  readonly advertisedAddress: string | undefined
}

/**
 * The name server of a broker that is alone: answers from the broker's own topics, at once and
 * with nothing to register.
 */
export class NameServer {
  readonly #parts: NameServerParts
  readonly #loggedCodes = new Set<number>()

  constructor(parts: NameServerParts) {
    this.#parts = parts
  }

  /** Codes 105 and 106; 16 when `access` says no, 17 for an unknown topic, 3 for anything else. */
  answer(request: NameServerRequest): NameServerReply {
    const { code, extFields } = request.header
    switch (code) {
      case REQUEST_CODE.GET_ROUTEINFO_BY_TOPIC:
        return this.#route(request, extFields['topic'])
      case REQUEST_CODE.GET_BROKER_CLUSTER_INFO:
        return this.#denial({}) ?? clusterInfoAnswer(this.#brokerFor(request))
      default:
        return this.#unsupported(code, request)
    }
  }

  #route(request: NameServerRequest, topic: string | undefined): NameServerReply {
    if (topic === undefined || topic === '') {
      return { code: RESPONSE_CODE.INVALID_PARAMETER, remark: 'the field topic is missing' }
    }
    const denial = this.#denial({ topic })
    return denial ?? topicRouteAnswer(topic, this.#parts.topics, this.#brokerFor(request))
  }

  #denial(touched: { readonly topic?: string }): NameServerReply | undefined {
    const request = { door: 'nameserver', action: 'read', ...touched } as const
    const decision = this.#parts.access.decide(request)
    if (decision.kind === 'allowed') return undefined
    return { code: RESPONSE_CODE.NO_PERMISSION, remark: decision.reason }
  }

  #brokerFor(request: NameServerRequest): {
    readonly brokerName: string
    readonly clusterName: string
    readonly address: string
  } {
    const { brokerName, clusterName, brokerPort, advertisedAddress } = this.#parts
    const host = bracketed(request.connection.localHost)
    return { brokerName, clusterName, address: advertisedAddress ?? `${host}:${brokerPort}` }
  }

  #unsupported(code: number, request: NameServerRequest): NameServerReply {
    const name = requestCodeName(code)
    if (!this.#loggedCodes.has(code) && this.#loggedCodes.size < LOGGED_CODES_MAX) {
      this.#loggedCodes.add(code)
      const { remoteHost } = request.connection
      const message = 'the name server is asked for something that is not supported'
      this.#parts.log.warn(message, { code, name, remoteHost })
    }
    const sentence = ` request type ${code} not supported`
    const remark = name === undefined ? sentence : `${sentence} (${name})`
    return { code: RESPONSE_CODE.REQUEST_CODE_NOT_SUPPORTED, remark }
  }
}

/** IPv6 in brackets, and without its zone, which means nothing on another machine. */
function bracketed(host: string): string {
  return host.includes(':') ? `[${host.replace(/%.*$/, '')}]` : host
}
