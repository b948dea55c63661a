import { BrokerError } from '../core/base/index.ts'

/** Reads `host:port`; IPv6 stands in brackets. Errors: PARAMETER_INVALID. */
export function parseHostPort(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535) {
    throw new BrokerError('PARAMETER_INVALID', { address, problem: 'must be host:port' })
  }
  return { host, port }
}
