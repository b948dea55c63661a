import { bodyObject } from './body-object.ts'

/** Names and values: the body of GET_BROKER_RUNTIME_INFO (28) and of the answer to 103. */
export function encodeKvTable(entries: Iterable<readonly [string, string]>): Buffer {
  return Buffer.from(JSON.stringify({ table: Object.fromEntries(entries) }))
}

export function decodeKvTable(body: Uint8Array): ReadonlyMap<string, string> {
  return bodyObject(body).table('table')
}
