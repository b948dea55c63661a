/** Through which door a request comes. */
export type Door = 'remoting' | 'nameserver'

/** What a request does to its topic or group: `read` is of settings and states, not of messages. */
export type Action = 'send' | 'receive' | 'manage' | 'read'

/** What a request brings to prove who sent it. */
export interface Credentials {
  readonly accessKey: string
  readonly signature: string
  readonly securityToken?: string
  /** The bytes that were signed. */
  readonly signedContent: Buffer
}

export interface AccessRequest {
  readonly door: Door
  readonly action: Action
  /** The topic that is touched. Absent when none is. */
  readonly topic?: string
  /** The consumer group that is touched. Absent when none is. */
  readonly group?: string
  /** Absent when the request is not signed. */
  readonly credentials?: Credentials
}

export type AccessDecision =
  | { readonly kind: 'allowed' }
  | {
      readonly kind: 'denied'
      /** For the answer and the log. Never holds a secret. */
      readonly reason: string
    }

/** Decides who may do what. Every door asks it before it handles a request. */
export interface Access {
  decide(request: AccessRequest): AccessDecision
}
