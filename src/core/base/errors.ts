interface ErrorSpec {
  /** Says what is wrong and what to do. Details follow it when it is shown. */
  readonly message: string
  /** Response code on the RocketMQ wire protocol. */
  readonly remotingCode: number
  /** True when the same request may succeed later without a change. */
  readonly retryable: boolean
}

/** Every error that a user, client or operator can meet. `docs/errors.md` has a heading for each. */
export const errorSpecs = {
  ADDRESS_IN_USE: {
    message: 'another program listens on this address; choose another port or stop it',
    remotingCode: 1,
    retryable: true,
  },
  BULK_CHANGES_TOO_MANY: {
    message: 'too many changes by filter are under way; wait until some are carried out',
    remotingCode: 2,
    retryable: true,
  },
  COMMAND_LINE_INVALID: {
    message: 'the command line is wrong; add --help to the command to see what it takes',
    remotingCode: 29,
    retryable: false,
  },
  CONNECT_FAILED: {
    message: 'the server cannot be reached; check the address and that it runs',
    remotingCode: 1,
    retryable: true,
  },
  CONNECTION_LOST: {
    message: 'the connection closed before the answer came; the outcome is unknown',
    remotingCode: 1,
    retryable: true,
  },
  DELAY_INVALID: {
    message: 'the delay or deliver time is not a whole number in range; send digits only',
    remotingCode: 13,
    retryable: false,
  },
  DELAY_NEGATIVE: {
    message: 'a delay must not be negative; use 0 or leave it out to deliver at once',
    remotingCode: 13,
    retryable: false,
  },
  DELIVER_TIME_INVALID: {
    message:
      'the deliver time cannot be read; give 2030-01-31T09:00:00+01:00, or milliseconds since 1970',
    remotingCode: 13,
    retryable: false,
  },
  DELIVER_TIME_IN_SECONDS: {
    message: 'the deliver time looks like seconds since 1970; send milliseconds',
    remotingCode: 13,
    retryable: false,
  },
  DELIVER_TIME_TOO_FAR: {
    message: 'the deliver time is beyond the longest accepted delay; see the option named here',
    remotingCode: 13,
    retryable: false,
  },
  DURATION_INVALID: {
    message: 'the duration cannot be read; give 250ms, 10s, 15m, 36h, 30d or milliseconds',
    remotingCode: 13,
    retryable: false,
  },
  FRAME_INVALID: {
    message: 'the bytes are not a frame of the remoting protocol; the connection is closed',
    remotingCode: 1,
    retryable: false,
  },
  GROUP_NAME_INVALID: {
    message: 'a group name has 1 to 120 characters out of letters, digits, % | _ and -',
    remotingCode: 29,
    retryable: false,
  },
  GROUP_NOT_FOUND: {
    message: 'the consumer group does not exist; start a consumer of it or create it',
    remotingCode: 26,
    retryable: false,
  },
  KEY_EXISTS: {
    message: 'a message with this key waits in the topic already; leave it there, or replace it',
    remotingCode: 604,
    retryable: false,
  },
  LATE_POLICY_INVALID: {
    message:
      'the late policy is incomplete or out of range; give ORRERY_ON_LATE and ORRERY_LATE_AFTER_MS',
    remotingCode: 13,
    retryable: false,
  },
  LATE_POLICY_NOT_FOR_LEVELS: {
    message: 'a message with a delay level takes no late policy; use a deliver time or a delay',
    remotingCode: 13,
    retryable: false,
  },
  LISTEN_FAILED: {
    message: 'the broker cannot listen on this address; check the host and the rights to the port',
    remotingCode: 1,
    retryable: false,
  },
  MESSAGE_ID_INVALID: {
    message: 'this is no id of a scheduled message; use what the send of it was answered with',
    remotingCode: 604,
    retryable: false,
  },
  MESSAGE_INVALID: {
    message: 'the message cannot be stored as it is',
    remotingCode: 13,
    retryable: false,
  },
  MESSAGE_NOT_FOUND: {
    message: 'there is no message at this place; it may have been removed by retention',
    remotingCode: 1,
    retryable: false,
  },
  MESSAGE_TOO_LARGE: {
    message: 'the message is larger than the option maxMessageSize allows',
    remotingCode: 13,
    retryable: false,
  },
  MESSAGE_UNREADABLE: {
    message: 'the waiting message cannot be read; the log of the broker says why',
    remotingCode: 1,
    retryable: true,
  },
  NOT_A_NAME_SERVER: {
    message: 'this is the address of a broker; give that of its name server, often port 9876',
    remotingCode: 1,
    retryable: false,
  },
  NOT_SUPPORTED: {
    message: 'this broker does not support the request',
    remotingCode: 3,
    retryable: false,
  },
  NOT_WAITING: {
    message: 'nothing was changed: the message does not wait for its time',
    remotingCode: 604,
    retryable: false,
  },
  NO_PERMISSION: {
    message: 'you are not allowed to do this',
    remotingCode: 16,
    retryable: false,
  },
  OPTION_INVALID: {
    message: 'options are wrong; every problem is listed',
    remotingCode: 29,
    retryable: false,
  },
  PARAMETER_INVALID: {
    message: 'a field of the request is missing or out of range',
    remotingCode: 29,
    retryable: false,
  },
  PROPERTIES_TOO_LARGE: {
    message: 'the properties of a message must fit into 32,767 bytes with those the broker adds',
    remotingCode: 13,
    retryable: false,
  },
  QUEUE_OUT_OF_RANGE: {
    message: 'the topic has no queue of this number; fetch the route again',
    remotingCode: 29,
    retryable: false,
  },
  REQUEST_FAILED: {
    message: 'the server refused the request',
    remotingCode: 1,
    retryable: false,
  },
  REQUEST_TIMEOUT: {
    message: 'no answer came in time; the outcome is unknown',
    remotingCode: 1,
    retryable: true,
  },
  SHUTTING_DOWN: {
    message: 'the broker is stopping; try again after it has started',
    remotingCode: 14,
    retryable: true,
  },
  STORE_BUSY: {
    message: 'the broker has as much unwritten work as it takes; slow down and try again',
    remotingCode: 2,
    retryable: true,
  },
  STORE_DAMAGED: {
    message: 'a file of the store is damaged; the file and range are named',
    remotingCode: 1,
    retryable: false,
  },
  STORE_FAILED: {
    message: 'the disk failed and the store accepts nothing until the broker is started again',
    remotingCode: 14,
    retryable: true,
  },
  STORE_FULL: {
    message: 'the disk has no room for another message; free space or add some',
    remotingCode: 14,
    retryable: true,
  },
  STORE_LOCKED: {
    message: 'another process has this data folder open; stop it or choose another folder',
    remotingCode: 1,
    retryable: true,
  },
  STORE_MISSING: {
    message: 'there is no data folder here; name the folder that the broker has as its data',
    remotingCode: 1,
    retryable: false,
  },
  STORE_NOT_ACCESSIBLE: {
    message:
      'the data folder cannot be used; correct the path named here, or choose another folder',
    remotingCode: 14,
    retryable: false,
  },
  SUBSCRIPTION_INVALID: {
    message: 'the subscription expression cannot be read',
    remotingCode: 23,
    retryable: false,
  },
  SUBSCRIPTION_NOT_FOUND: {
    message: 'the group has not subscribed to this topic with a heartbeat yet',
    remotingCode: 24,
    retryable: true,
  },
  SUBSCRIPTION_NOT_LATEST: {
    message: 'the broker has an older subscription; send the heartbeat first',
    remotingCode: 25,
    retryable: true,
  },
  SYSTEM_ERROR: {
    message: 'the broker failed in a way that it did not foresee; its log tells more',
    remotingCode: 1,
    retryable: true,
  },
  TOO_MANY_GROUPS: {
    message: 'the broker has as many consumer groups as it takes; use one that exists',
    remotingCode: 29,
    retryable: false,
  },
  TOO_MANY_REQUESTS: {
    message: 'too many requests wait for their answers already; send fewer at once and try again',
    remotingCode: 2,
    retryable: true,
  },
  TOO_MANY_TOPICS: {
    message: 'the broker has as many topics as it takes; use one that exists',
    remotingCode: 29,
    retryable: false,
  },
  TOPIC_NAME_INVALID: {
    message: 'a topic name has 1 to 127 characters out of letters, digits, % | _ and -',
    remotingCode: 29,
    retryable: false,
  },
  TOPIC_NOT_FOUND: {
    message: 'the topic does not exist; create it, or allow autoCreateTopicEnable',
    remotingCode: 17,
    retryable: false,
  },
  TOPIC_NOT_READABLE: {
    message: 'the topic does not permit reading',
    remotingCode: 16,
    retryable: false,
  },
  TOPIC_NOT_WRITABLE: {
    message: 'the topic does not permit writing',
    remotingCode: 16,
    retryable: false,
  },
  TOPIC_RESERVED: {
    message: 'the topic belongs to the broker; choose another name',
    remotingCode: 16,
    retryable: false,
  },
} as const

export type ErrorCode = keyof typeof errorSpecs

/** Holds every entry against `ErrorSpec`; the exported table keeps its literal types. */
const specs: Readonly<Record<ErrorCode, ErrorSpec>> = errorSpecs

export type ErrorDetails = Readonly<Record<string, string | number>>

/** An operating error: handled once, at the edge, with its code; never compared by message. */
export class BrokerError extends Error {
  override readonly name = 'BrokerError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    super(describe(code, details), { cause })
    this.code = code
    this.details = details
  }
}

/**
 * What was caught, where an operating error is dealt with. Anything else is a mistake of ours, and
 * is thrown on.
 */
export function operatingError(caught: unknown): BrokerError {
  if (caught instanceof BrokerError) return caught
  throw caught
}

function describe(code: ErrorCode, details: ErrorDetails): string {
  const facts = Object.entries(details).map(([name, value]) => `${name}=${value}`)
  const message = specs[code].message
  return facts.length === 0 ? message : `${message} (${facts.join(', ')})`
}

/**
 * The error that our broker tells of in a remark: its code, a colon, and its message as a
 * `BrokerError` has it. Numbers among the details come back as text; what cannot be taken apart
 * is the detail `remark`. `undefined` when the remark begins with no code of the table.
 */
export function errorOfRemark(remark: string): BrokerError | undefined {
  const end = remark.indexOf(': ')
  const code = remark.slice(0, Math.max(0, end))
  if (!isErrorCode(code)) return undefined
  const rest = remark.slice(end + 2)
  const { message } = specs[code]
  if (rest === message) return new BrokerError(code)
  const facts = rest.startsWith(`${message} (`) && rest.endsWith(')')
  const details = facts ? parseFacts(rest.slice(message.length + 2, -1)) : { remark: rest }
  return new BrokerError(code, details)
}

function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(errorSpecs, name)
}

function parseFacts(text: string): ErrorDetails {
  const facts = text.split(/, (?=[^\s,=]+=)/).map(fact => {
    const end = fact.indexOf('=')
    return end < 1 ? ['remark', fact] : [fact.slice(0, end), fact.slice(end + 1)]
  })
  return Object.fromEntries(facts)
}
