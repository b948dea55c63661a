import type { Command } from 'commander'
import { connectRemoting, parseHostPort, type BrokerClient } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import { realPlatform } from '../core/platform/index.ts'

/** Adds `--server` and `--json`, which every command but `serve` has. */
export function addServerFlags(command: Command): void {
  command
    .option('--server <host:port>', 'the name server', '127.0.0.1:9876')
    .option('--json', 'print JSON objects, one a line')
}

/**
 * Connects, does the work, and closes the connections whatever came of it. Errors:
 * COMMAND_LINE_INVALID, CONNECT_FAILED, and those of the work.
 */
export async function withServer(
  nameserver: string,
  work: (client: BrokerClient) => Promise<void>,
): Promise<void> {
  checkAddress(nameserver)
  const platform = realPlatform({ logLevel: 'warn' })
  const client = await connectRemoting({ platform, nameserver })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

function checkAddress(address: string): void {
  try {
    parseHostPort(address)
  } catch (error) {
    const shown = address === '' ? 'an empty value' : address
    const details = { '--server': `${shown} is not host:port, such as 127.0.0.1:9876` }
    throw new BrokerError('COMMAND_LINE_INVALID', details, error)
  }
}
