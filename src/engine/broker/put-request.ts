const NOTHING = Buffer.alloc(0)

/** A message to put, as a door has decoded it. One object is filled again for every message. */
export class PutRequest {
  topic = ''
  /** Below 0: the broker chooses. */
  queueId = -1
  /** How many queues the sender wishes for a topic that does not exist yet. */
  wishedQueueCount = 1
  flag = 0
  sysFlag = 0
  /** By the sender's clock. */
  bornTimeMs = 0
  /** The sender's address: 8 or 20 bytes. */
  bornHost: Buffer = NOTHING
  reconsumeTimes = 0
  /** RocketMQ's ordinal of the sender's version. */
  clientVersion = 0
  /** Of a message to a retry topic: overrides the group's setting. */
  maxReconsumeTimes: number | undefined = undefined
  /** Encoded, as sent. */
  properties = ''
  /** The body lies in `body` from `bodyStart` to `bodyEnd`; it is copied. */
  body: Buffer = NOTHING
  bodyStart = 0
  bodyEnd = 0
  /** When it arrived: delays count from here, and the record carries it. */
  nowMs = 0
}

/** What became of a put that succeeded; filled again for every message. */
export class PutOutcome {
  /** Where it is going: for a timer message its real topic. */
  topic = ''
  queueId = 0
  /** In the queue that holds the record now; of the first message in a batch. */
  queueOffset = 0
  /** Of the record; of the last one in a batch. The put counts once the store has applied it. */
  commitLogOffset = 0
  /** One for each message of a batch, in order; empty for a single message. */
  readonly batchOffsets: number[] = []
  /** Deliver time of a timer message; -1 for any other, also for a delay level. */
  deliverTimeMs = -1
  uniqueKey = ''
  /** Must also have resolved before the put counts: the topic was made for it. */
  topicDurable: Promise<void> | undefined = undefined
}
