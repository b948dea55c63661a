/** Who may do what: the decision, which the doors ask for. */
export type { Access, AccessDecision, AccessRequest, Action, Credentials, Door } from './access.ts'
export { OpenAccess } from './open-access.ts'
