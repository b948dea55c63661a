import type { Access, AccessDecision, AccessRequest } from './access.ts'

const ALLOWED: AccessDecision = { kind: 'allowed' }

/**
 * Allows everything to everybody and looks at no credentials, as RocketMQ does unless it is told
 * otherwise. Fit for a network in which every machine is trusted.
 */
export class OpenAccess implements Access {
  decide(_request: AccessRequest): AccessDecision {
    return ALLOWED
  }
}
