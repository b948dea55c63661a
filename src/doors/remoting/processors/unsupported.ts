import { REQUEST_CODE, RESPONSE_CODE, requestCodeName } from '../../../model/wire/index.ts'
import type { DoorContext, Reply, Request } from '../processor.ts'

const TRANSACTIONS = 'transactions are not supported: send the message plainly'
const POP =
  'pop consumption is not supported: consume by pull, as push consumers do unless told otherwise'
const REPLIES = 'request and reply through the broker are not supported: use two topics'
const OTHER_BROKERS = 'Orrery is its own name server and takes no other brokers'
const USERS = 'users and permissions are not managed here'

/** What to do instead, where a client's user can do something. */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [REQUEST_CODE.END_TRANSACTION, TRANSACTIONS],
  [REQUEST_CODE.CHECK_TRANSACTION_STATE, TRANSACTIONS],
  [REQUEST_CODE.RESUME_CHECK_HALF_MESSAGE, TRANSACTIONS],
  [REQUEST_CODE.POP_MESSAGE, POP],
  [REQUEST_CODE.ACK_MESSAGE, POP],
  [REQUEST_CODE.BATCH_ACK_MESSAGE, POP],
  [REQUEST_CODE.PEEK_MESSAGE, POP],
  [REQUEST_CODE.CHANGE_MESSAGE_INVISIBLETIME, POP],
  [REQUEST_CODE.NOTIFICATION, POP],
  [REQUEST_CODE.POLLING_INFO, POP],
  [REQUEST_CODE.SET_MESSAGE_REQUEST_MODE, POP],
  [REQUEST_CODE.QUERY_ASSIGNMENT, 'keep clientRebalance on: clients share the queues themselves'],
  [REQUEST_CODE.SEND_REPLY_MESSAGE, REPLIES],
  [REQUEST_CODE.SEND_REPLY_MESSAGE_V2, REPLIES],
  [REQUEST_CODE.UPDATE_BROKER_CONFIG, 'change the settings file and start the broker again'],
  [REQUEST_CODE.REGISTER_BROKER, OTHER_BROKERS],
  [REQUEST_CODE.UNREGISTER_BROKER, OTHER_BROKERS],
  [REQUEST_CODE.QUERY_DATA_VERSION, OTHER_BROKERS],
  [REQUEST_CODE.GET_ROUTEINFO_BY_TOPIC, 'ask the name server, on its own port'],
  [REQUEST_CODE.GET_BROKER_CLUSTER_INFO, 'ask the name server, on its own port'],
  [REQUEST_CODE.AUTH_CREATE_USER, USERS],
  [REQUEST_CODE.AUTH_CREATE_ACL, USERS],
  [REQUEST_CODE.UPDATE_AND_CREATE_ACL_CONFIG, USERS],
])

/**
 * Any request that no processor serves: answered 3, with RocketMQ's sentence, the request's name
 * and what to do instead; logged once per code.
 */
export function answerUnsupported(request: Request, context: DoorContext): Reply {
  const { code, language } = request.header
  const { remoteHost } = request.connection
  const name = requestCodeName(code)
  const advice = ADVICE.get(code)
  context.onceLog.warn(`code ${code}`, 'a client asks for something that is not supported', {
    code,
    name,
    advice,
    language,
    remoteHost,
  })
  const rest = [name, advice].filter(part => part !== undefined).join(': ')
  const sentence = ` request type ${code} not supported`
  const remark = rest === '' ? sentence : `${sentence} (${rest})`
  return { code: RESPONSE_CODE.REQUEST_CODE_NOT_SUPPORTED, remark }
}
