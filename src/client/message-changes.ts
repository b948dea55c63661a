import { BrokerError } from '../core/base/index.ts'
import { decodeRecallHandle } from '../model/message/index.ts'
import type { CancelResult, KeyRef, MessageRef, MoveResult } from '../model/schedule/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import { type RemotingRequest, type RemotingResponse, succeeded } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

/** What is asked of the client. */
interface Asker {
  readableQueues(topic: string): Promise<readonly QueueAddress[]>
  ask(address: string, request: RemotingRequest): Promise<RemotingResponse>
}

/** A delay counts from now by the broker's clock. */
export type When = { readonly deliverTimeMs: number } | { readonly delayMs: number }

/** Cancels by own key; see `BrokerClient.cancel`. */
export async function cancelByKey(client: Asker, ref: KeyRef): Promise<CancelResult> {
  const code = REQUEST_CODE.CANCEL_SCHEDULED_MESSAGE
  const response = await askHolders(
    client,
    ref,
    { code, extFields: refFields(ref) },
    'cancelResult',
  )
  const result = response.extFields['cancelResult']
  if (result === 'too-late' || result === 'unknown') return result
  succeeded(response)
  return 'cancelled'
}

/** See `BrokerClient.move`. */
export async function moveMessage(client: Asker, ref: MessageRef, when: When): Promise<MoveResult> {
  const asked = Object.entries(when).map(([name, valueMs]) => [name, String(valueMs)])
  const extFields: Record<string, string> = { ...refFields(ref), ...Object.fromEntries(asked) }
  const code = REQUEST_CODE.MOVE_SCHEDULED_MESSAGE
  const response = await askHolders(client, ref, { code, extFields }, 'moveResult')
  const kind = response.extFields['moveResult']
  if (kind === 'cancelled' || kind === 'too-late' || kind === 'unknown') return { kind }
  return { kind: 'moved', deliverTimeMs: Number(succeeded(response).extFields['deliverTimeMs']) }
}

/** Address of the broker that has the message. Errors: MESSAGE_ID_INVALID, TOPIC_NOT_FOUND. */
export async function holderOf(client: Asker, recallHandle: string): Promise<string> {
  const handle = decodeRecallHandle(recallHandle)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  const { topic, brokerName } = handle
  const queues = await client.readableQueues(topic)
  const holder = queues.find(({ queue }) => queue.brokerName === brokerName)
  if (holder === undefined) throw new BrokerError('TOPIC_NOT_FOUND', { topic })
  return holder.address
}

/** The answer of the broker that knows the message; of several one may have an own key. */
async function askHolders(
  client: Asker,
  ref: MessageRef,
  request: RemotingRequest,
  resultField: string,
): Promise<RemotingResponse> {
  if (!('key' in ref)) return client.ask(await holderOf(client, ref.id), request)
  const queues = await client.readableQueues(ref.topic)
  let answer: RemotingResponse | undefined
  for (const address of new Set(queues.map(queue => queue.address))) {
    answer = await client.ask(address, request)
    if (answer.extFields[resultField] !== 'unknown') return answer
  }
  if (answer === undefined) throw new BrokerError('TOPIC_NOT_FOUND', { topic: ref.topic })
  return answer
}

/** How a request names a waiting message. Errors: MESSAGE_ID_INVALID. */
export function refFields(ref: MessageRef): Record<string, string> {
  if ('key' in ref) return { topic: ref.topic, key: ref.key }
  if (decodeRecallHandle(ref.id) === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  return { id: ref.id }
}
