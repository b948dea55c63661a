/** The name server: routes and cluster, answered from the broker's own topics. */
export { NameServer, type NameServerParts, type NameServerRequest } from './name-server.ts'
export type { NameServerReply } from './route-answer.ts'
