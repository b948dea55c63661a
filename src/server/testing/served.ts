import { type BrokerClient, connectRemoting, ScheduledMessagesClient } from '../../client/index.ts'
import { loadOptions } from '../../core/config/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { type RunningServer, startServer } from '../start-server.ts'

const NAMESERVER = '127.0.0.1:9876'

export interface Served {
  readonly world: SimulatedWorld
  readonly server: RunningServer
  readonly client: BrokerClient
  readonly scheduled: ScheduledMessagesClient
}

/** A broker on the data folder `/data` of the world, and a client of it; `flags` are its options. */
export async function served(
  world: SimulatedWorld = new SimulatedWorld({ seed: 1 }),
  flags: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const { options } = loadOptions({ flags: { data: '/data', ...flags } })
  const server = await world.finish(startServer(options, world.platform))
  const connecting = connectRemoting({ platform: world.outside, nameserver: NAMESERVER })
  const client = await world.finish(connecting)
  return { world, server, client, scheduled: new ScheduledMessagesClient(client) }
}
