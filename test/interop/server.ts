/** A broker with its name server, as a test sees it. */
export interface Server {
  /** Name for messages. */
  readonly name: string
  /** host:port of the name server. */
  readonly nameserver: string
  /** Stops it in the regular way, so that another one may open its folder; throws if it did not stop cleanly. */
  stop(): Promise<void>
}

export type ServerKind = 'orrery' | 'apache'

export interface ServerRequest {
  /** Folder of the commit log, the queues and `config/`. */
  readonly dataFolder: string
  /** Folder for what the server writes elsewhere: its own log, and its settings. */
  readonly homeFolder: string
  /** Length of one file of the commit log; the same for all servers that open one folder. */
  readonly segmentBytes: number
}

export type OpenServer = (kind: ServerKind, request: ServerRequest) => Promise<Server>

export const SEGMENT_BYTES = 134_217_728
