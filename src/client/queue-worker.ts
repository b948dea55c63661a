import { BrokerError } from '../core/base/index.ts'
import type { Message } from '../model/message/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import type { BrokerClient } from './broker-client.ts'
import type { PullConsumer, PullResult } from './pull-consumer.ts'
import { receivedMessage, type ReceivedMessage } from './received-message.ts'
import { succeeded } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

/** A message counts as consumed when it returns; when it throws, the message comes again later. */
export type MessageHandler = (message: ReceivedMessage) => void | Promise<void>

export interface QueueWorkerOptions {
  readonly client: BrokerClient
  readonly puller: PullConsumer
  readonly target: QueueAddress
  readonly tags: string
  /** Where a group without an offset starts. */
  readonly startAt: 'first' | 'last'
  readonly retryTimesMax: number
  /** Asked before each message; once it says no, this worker takes none any more. */
  readonly mayTake: () => boolean
  readonly handler: MessageHandler
}

const FAILURE_PAUSE_MS = 1_000
/** A broker that answers at once that there is nothing must not be asked all the time. */
const IDLE_PAUSE_MS = 100

/**
 * Consumes one queue, message by message. It holds one pull's messages at most (32 or 256 KB),
 * and pulls again when they are done.
 */
export class QueueWorker {
  readonly #options: QueueWorkerOptions
  readonly #abort = new AbortController()
  /** Next offset to consume; `undefined` until it is known. */
  #offset: number | undefined
  #committedOffset: number | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: QueueWorkerOptions) {
    this.#options = options
  }

  get target(): QueueAddress {
    return this.#options.target
  }

  start(): void {
    this.#done = this.#run()
  }

  /** Lets the message under way end, then commits. No message is handled after it resolves. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#done
    await this.commit()
  }

  /** Tells the broker how far this queue is consumed, if that has changed. */
  async commit(): Promise<void> {
    const offset = this.#offset
    if (offset === undefined || offset === this.#committedOffset) return
    try {
      await this.#options.puller.commitOffset(this.target, offset)
      this.#committedOffset = offset
    } catch (error) {
      this.#warn('an offset could not be committed', error)
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        this.#offset ??= await this.#startOffset()
        await this.#turn(this.#offset)
      } catch (error) {
        if (this.#stopping) return
        this.#warn('a queue cannot be consumed for now', error)
        await this.#pause(FAILURE_PAUSE_MS)
      }
    }
  }

  get #stopping(): boolean {
    return this.#abort.signal.aborted
  }

  async #startOffset(): Promise<number> {
    const { puller, startAt } = this.#options
    const committed = await puller.committedOffset(this.target)
    if (committed !== undefined) {
      this.#committedOffset = committed
      return committed
    }
    return startAt === 'first' ? puller.minOffset(this.target) : puller.maxOffset(this.target)
  }

  async #turn(offset: number): Promise<void> {
    const { clock } = this.#options.client.platform
    const { puller, tags } = this.#options
    const startMs = clock.uptimeMs()
    const { signal } = this.#abort
    const result = await puller.pull(this.target, { offset, tags, signal })
    await this.#consume(result)
    const isIdle = result.kind === 'none' && clock.uptimeMs() - startMs < IDLE_PAUSE_MS
    if (isIdle) await this.#pause(IDLE_PAUSE_MS)
  }

  async #consume(result: PullResult): Promise<void> {
    for (const message of result.messages) {
      if (this.#stopping) return
      if (!this.#options.mayTake()) {
        this.#abort.abort()
        return
      }
      const settled = await this.#settle(message)
      if (!settled) return
      this.#offset = message.queueOffset + 1
    }
    this.#offset = result.nextOffset
  }

  /** True when the message is consumed or will come again by itself. */
  async #settle(message: Message): Promise<boolean> {
    try {
      await this.#options.handler(receivedMessage(message, this.target.queue.brokerName))
      return true
    } catch (error) {
      this.#warn('a message was not consumed and comes again', error)
    }
    for (;;) {
      try {
        await this.#sendBack(message)
        return true
      } catch (error) {
        this.#warn('a message could not be sent back', error)
      }
      if (this.#stopping) return false
      await this.#pause(FAILURE_PAUSE_MS)
    }
  }

  async #sendBack(message: Message): Promise<void> {
    const { client, puller, retryTimesMax, target } = this.#options
    const extFields = {
      offset: String(message.commitLogOffset),
      group: puller.group,
      delayLevel: '0',
      originMsgId: message.offsetMessageId,
      originTopic: message.topic,
      unitMode: 'false',
      maxReconsumeTimes: String(retryTimesMax),
    }
    const request = { code: REQUEST_CODE.CONSUMER_SEND_MSG_BACK, extFields }
    succeeded(await client.ask(target.address, request))
  }

  #pause(durationMs: number): Promise<void> {
    const { signal } = this.#abort
    if (signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const end = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.#options.client.platform.timers.after(durationMs, end)
      signal.addEventListener('abort', end)
    })
  }

  #warn(message: string, error: unknown): void {
    const { topic, queueId, brokerName } = this.target.queue
    const why = error instanceof BrokerError ? error.message : String(error)
    const fields = { group: this.#options.puller.group, topic, queueId, brokerName, why }
    this.#options.client.platform.log.warn(message, fields)
  }
}
