import { bodyObject } from './body-object.ts'

/** Client ids of a group: the body of GET_CONSUMER_LIST_BY_GROUP (38). */
export function encodeConsumerList(clientIds: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify({ consumerIdList: clientIds }))
}

export function decodeConsumerList(body: Uint8Array): readonly string[] {
  return bodyObject(body).texts('consumerIdList')
}
