/** Names of properties that brokers and clients give a meaning. RocketMQ's, then our own. */
export const PROPERTY = {
  KEYS: 'KEYS',
  TAGS: 'TAGS',
  WAIT: 'WAIT',
  UNIQ_KEY: 'UNIQ_KEY',
  EXTEND_UNIQ_INFO: 'EXTEND_UNIQ_INFO',

  DELAY: 'DELAY',
  TIMER_DELAY_SEC: 'TIMER_DELAY_SEC',
  TIMER_DELAY_MS: 'TIMER_DELAY_MS',
  TIMER_DELIVER_MS: 'TIMER_DELIVER_MS',
  TIMER_DELAY_LEVEL: 'TIMER_DELAY_LEVEL',
  TIMER_OUT_MS: 'TIMER_OUT_MS',
  TIMER_ENQUEUE_MS: 'TIMER_ENQUEUE_MS',
  TIMER_DEQUEUE_MS: 'TIMER_DEQUEUE_MS',
  TIMER_ROLL_TIMES: 'TIMER_ROLL_TIMES',
  TIMER_DEL_UNIQKEY: 'TIMER_DEL_UNIQKEY',
  REAL_TOPIC: 'REAL_TOPIC',
  REAL_QID: 'REAL_QID',

  RETRY_TOPIC: 'RETRY_TOPIC',
  ORIGIN_MESSAGE_ID: 'ORIGIN_MESSAGE_ID',
  RECONSUME_TIME: 'RECONSUME_TIME',
  MAX_RECONSUME_TIMES: 'MAX_RECONSUME_TIMES',
  CONSUME_START_TIME: 'CONSUME_START_TIME',
  DLQ_ORIGIN_TOPIC: 'DLQ_ORIGIN_TOPIC',
  DLQ_ORIGIN_MESSAGE_ID: 'DLQ_ORIGIN_MESSAGE_ID',

  TRAN_MSG: 'TRAN_MSG',
  PGROUP: 'PGROUP',
  CHECK_IMMUNITY_TIME_IN_SECONDS: 'CHECK_IMMUNITY_TIME_IN_SECONDS',
  TRAN_PREPARED_QUEUE_OFFSET: 'TRAN_PREPARED_QUEUE_OFFSET',
  TRANSACTION_ID: '__transactionId__',
  TRANSACTION_CHECK_TIMES: 'TRANSACTION_CHECK_TIMES',

  MIN_OFFSET: 'MIN_OFFSET',
  MAX_OFFSET: 'MAX_OFFSET',
  MSG_REGION: 'MSG_REGION',
  TRACE_ON: 'TRACE_ON',
  CLUSTER: 'CLUSTER',
  INSTANCE_ID: 'INSTANCE_ID',
  CORRELATION_ID: 'CORRELATION_ID',
  REPLY_TO_CLIENT: 'REPLY_TO_CLIENT',
  TTL: 'TTL',
  ARRIVE_TIME: 'ARRIVE_TIME',
  PUSH_REPLY_TIME: 'PUSH_REPLY_TIME',
  MSG_TYPE: 'MSG_TYPE',
  POP_CK: 'POP_CK',
  POP_CK_OFFSET: 'POP_CK_OFFSET',
  FIRST_POP_TIME: '1ST_POP_TIME',
  SHARDING_KEY: '__SHARDINGKEY',
  INNER_NUM: 'INNER_NUM',
  INNER_BASE: 'INNER_BASE',
  INNER_MULTI_DISPATCH: 'INNER_MULTI_DISPATCH',
  INNER_MULTI_QUEUE_OFFSET: 'INNER_MULTI_QUEUE_OFFSET',
  BORN_HOST: '__BORNHOST',
  BORN_TIMESTAMP: 'BORN_TIMESTAMP',
  TRACE_CONTEXT: 'TRACE_CONTEXT',

  BUYER_ID: 'BUYER_ID',
  TRANSFER_FLAG: 'TRANSFER_FLAG',
  CORRECTION_FLAG: 'CORRECTION_FLAG',
  MQ2_FLAG: 'MQ2_FLAG',
  DUP_INFO: 'DUP_INFO',
  PROPERTY_FORWARD_QUEUE_ID: 'PROPERTY_FORWARD_QUEUE_ID',
  REDIRECT: 'REDIRECT',

  /** The checksum of a record; always its last property. See `record.ts`. */
  CRC32: '__CRC32#',

  /** Commit log offset of the accept record; on what a timer published. */
  ORRERY_TIMER_ID: 'ORRERY_TIMER_ID',
  /** Timer id of the message that a record of the timer topic cancels. */
  ORRERY_CANCELS: 'ORRERY_CANCELS',
  /** Of the message that an accept record replaces: its timer id and deliver time, by a blank. */
  ORRERY_REPLACES: 'ORRERY_REPLACES',
  /** Of a message that was moved: its first timer id and its first deliver time, by a blank. */
  ORRERY_FIRST: 'ORRERY_FIRST',
  /** Late policy: `deliver`, `drop` or `deadLetter`, and when it applies, behind the deliver time. */
  ORRERY_ON_LATE: 'ORRERY_ON_LATE',
  ORRERY_LATE_AFTER_MS: 'ORRERY_LATE_AFTER_MS',
  /** Of a dead letter: why it is one. `late`: too late by its own policy. */
  ORRERY_DEAD_LETTER_REASON: 'ORRERY_DEAD_LETTER_REASON',
  /** The caller's own key of a waiting message, which no other message of its topic has. */
  ORRERY_KEY: 'ORRERY_KEY',
  /** Of a send with an own key: `always`, as without it, or `absent`. */
  ORRERY_KEY_WHEN: 'ORRERY_KEY_WHEN',
} as const
