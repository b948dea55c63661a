/** What happens to messages that a consumer could not consume: retry topics, dead letters. */
export { retryTarget, type RetrySend, type RetryTarget } from './retry-target.ts'
export {
  SendBack,
  type RecordPutter,
  type RecordSource,
  type SendBackParts,
  type SendBackRequest,
} from './send-back.ts'
