/** The door for RocketMQ's clients and tools: connections, and one processor per request code. */
export { FramedServer, SERVER_LIMITS, type ServerLimits } from './framed-server.ts'
export { MEMORY_LIMITS, MemoryBudget, type MemoryLimits } from './memory-budget.ts'
export { OnceLog } from './once-log.ts'
export type {
  BrokerIdentity,
  DoorContext,
  Processor,
  RemotingChannel,
  Reply,
  Request,
  Resources,
  WaitingCounts,
} from './processor.ts'
export { servedProcessors } from './processors/served.ts'
export { RemotingDoor, type RemotingAddresses, type RemotingDoorParts } from './remoting-door.ts'
export { RequestFrames } from './request-frames.ts'
export { settingsText } from './settings-text.ts'
