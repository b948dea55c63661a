/** A broker that is being measured, in a process of its own. */
export interface Broker {
  readonly name: 'orrery' | 'apache'
  /** `host:port` of its remoting door. */
  readonly address: string
  readonly pid: number
  /** Stops it cleanly. */
  stop(): Promise<void>
}
