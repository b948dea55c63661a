/** A client of the remoting protocol: sends, sends for later, pulls and consumes. */
export type { When } from './message-changes.ts'
export {
  type BatchReceipt,
  BrokerClient,
  connectRemoting,
  type ConnectOptions,
  type SendReceipt,
} from './broker-client.ts'
export { Consumer, type ConsumerOptions } from './consumer.ts'
export { parseHostPort } from './host-port.ts'
export type { FoundMessage, KeyQuery } from './message-lookup.ts'
export type { OutgoingMessage } from './outgoing-message.ts'
export { PullConsumer, type PullOptions, type PullResult } from './pull-consumer.ts'
export type { MessageHandler } from './queue-worker.ts'
export type { ReceivedMessage } from './received-message.ts'
export type { ClientPlatform, RemotingRequest, RemotingResponse } from './remoting-connection.ts'
export { ScheduledMessagesClient } from './scheduled-messages.ts'
export type { QueueAddress } from './topic-queues.ts'
