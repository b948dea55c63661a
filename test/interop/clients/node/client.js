/** Sends a plan, consumes, or both. See docs/operations/interop.md for arguments and output. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import aliOns from 'ali-ons'

const { Consumer, Producer, Message } = aliOns
const settings = Object.fromEntries(
  process.argv.slice(2).map(argument => {
    const equals = argument.indexOf('=')
    return [argument.slice(0, equals), argument.slice(equals + 1)]
  }),
)
const untilMs = Date.now() + Number(settings.timeoutMs)
const ids = new Set()
let isWarm = false

function write(...columns) {
  process.stdout.write(columns.join('\t') + '\n')
}

async function until(condition) {
  while (!condition() && Date.now() < untilMs) await sleep(20)
}

async function receive(message) {
  const nowMs = Date.now()
  const id = message.body.toString().split('|', 1)[0]
  if (id === 'warmup') {
    isWarm = true
    return
  }
  const { properties } = message
  write(
    'received',
    nowMs,
    message.reconsumeTimes,
    message.tags ?? '',
    message.keys ?? '',
    properties['interop-note'] ?? '',
    message.body.toString('base64'),
  )
  ids.add(id)
}

/** Returns the absolute deliver time in milliseconds, or -1 when the broker works it out. */
function setTime(message, kind, value, nowMs) {
  switch (kind) {
    case 'plain':
      return -1
    case 'level':
      message.delayTimeLevel = value
      return -1
    case 'delay-sec':
      message.properties.TIMER_DELAY_SEC = String(value)
      return -1
    case 'delay-ms':
      message.properties.TIMER_DELAY_MS = String(value)
      return -1
    case 'deliver-ms':
      message.properties.TIMER_DELIVER_MS = String(nowMs + value)
      return nowMs + value
    default:
      throw new Error(`unknown kind ${kind}`)
  }
}

async function sendOne(producer, line) {
  const [id, kind, value, tag, keys, note, body] = line.split('\t')
  const message = new Message(settings.topic, tag, body)
  message.keys = keys.split(' ')
  message.properties['interop-note'] = note
  const beforeMs = Date.now()
  const deliverMs = setTime(message, kind, Number(value), beforeMs)
  try {
    const result = await producer.send(message)
    if (result.sendStatus !== 'SEND_OK') throw new Error(`status ${result.sendStatus}`)
    write('sent', id, beforeMs, Date.now(), deliverMs)
  } catch (error) {
    write('failed', id, String(error).replaceAll(/\s+/g, ' '))
  }
}

const complain = (...texts) => process.stderr.write(texts.join(' ') + '\n')
const logger = { debug() {}, info() {}, warn() {}, error: complain }
/** The library insists on one; it asks it for name servers only when it was given none. */
const httpclient = {
  request() {
    throw new Error('the address of the name server is known')
  },
}
const shared = { nameSrv: settings.nameserver, logger, httpclient }
const producer = new Producer({ ...shared, producerGroup: `${settings.group}-producer` })
producer.on('error', complain)
await producer.ready()
// The library would make a topic on first use, but stops at "no route" before it comes to that.
await producer._mqClient.updateTopicRouteInfoFromNameServer(settings.topic, true, producer)
await producer.send(new Message(settings.topic, 'warmup|'))

const consumer = new Consumer({
  ...shared,
  consumerGroup: settings.group,
  consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
  parallelConsumeLimit: 16,
})
consumer.on('error', complain)
consumer.subscribe(settings.topic, '*', receive)
await consumer.ready()
await until(() => isWarm)
for (const line of readFileSync(settings.send, 'utf8').split('\n').slice(0, -1)) {
  await sendOne(producer, line)
}
await until(() => ids.size >= Number(settings.receive))
await sleep(Number(settings.quietMs)) // time for what should not come
await consumer.close()
await producer.close()
process.exit(0) // the library keeps timers
