import { BrokerError } from '../../core/base/index.ts'

/** One message of a batch. The body lies in the batch's own buffer. */
export interface BatchItem {
  flag: number
  bodyStart: number
  bodyEnd: number
  properties: string
}

/** What goes into a batch. */
export interface BatchMessage {
  readonly flag: number
  readonly body: Buffer
  readonly properties: string
}

const MAGIC = 4 // int32, 0; ignored
const FLAG = 12 // int32
const BODY_SIZE = 16 // int32, then the body, int16 size of the properties, properties
const BODY = 20
/** Size of an item without body and properties. */
const ITEM_SIZE_MIN_BYTES = 22
const PROPERTIES_SIZE_MAX_BYTES = 32_767

/**
 * Calls `visit` for each message of a batch's body, in order, with one object that is reused.
 * The whole batch is checked before the first call. Returns the number of messages, at least 1.
 *
 * Errors: MESSAGE_INVALID when the bytes from `start` to `end` are not exactly a batch.
 */
export function forEachBatchItem(
  body: Buffer,
  start: number,
  end: number,
  visit: (item: BatchItem) => void,
): number {
  const count = checkBatch(body, start, end)
  const item: BatchItem = { flag: 0, bodyStart: 0, bodyEnd: 0, properties: '' }
  let position = start
  for (let index = 0; index < count; index++) {
    const itemEnd = position + body.readInt32BE(position)
    item.flag = body.readInt32BE(position + FLAG)
    item.bodyStart = position + BODY
    item.bodyEnd = item.bodyStart + body.readInt32BE(position + BODY_SIZE)
    item.properties = body.toString('utf8', item.bodyEnd + 2, itemEnd)
    visit(item)
    position = itemEnd
  }
  return count
}

/** The body of a batch. Errors: PROPERTIES_TOO_LARGE. */
export function encodeBatch(messages: readonly BatchMessage[]): Buffer {
  return Buffer.concat(messages.map(encodeItem))
}

function encodeItem(message: BatchMessage): Buffer {
  const properties = Buffer.from(message.properties)
  if (properties.length > PROPERTIES_SIZE_MAX_BYTES) {
    throw new BrokerError('PROPERTIES_TOO_LARGE', { sizeBytes: properties.length })
  }
  const item = Buffer.alloc(ITEM_SIZE_MIN_BYTES + message.body.length + properties.length)
  item.writeInt32BE(item.length, 0)
  item.fill(0, MAGIC, FLAG)
  item.writeInt32BE(message.flag, FLAG)
  item.writeInt32BE(message.body.length, BODY_SIZE)
  message.body.copy(item, BODY)
  item.writeInt16BE(properties.length, BODY + message.body.length)
  properties.copy(item, BODY + message.body.length + 2)
  return item
}

function checkBatch(body: Buffer, start: number, end: number): number {
  let count = 0
  let position = start
  while (position < end) {
    position += checkedItemSize(body, position, end)
    count++
  }
  if (count === 0) throw invalid('the batch is empty', 0)
  return count
}

function checkedItemSize(body: Buffer, position: number, end: number): number {
  const rest = end - position
  if (rest < ITEM_SIZE_MIN_BYTES) throw invalid('an item is cut off', rest)
  const size = body.readInt32BE(position)
  if (size < ITEM_SIZE_MIN_BYTES || size > rest) throw invalid('the size of an item', size)
  const bodySize = body.readInt32BE(position + BODY_SIZE)
  if (bodySize < 0 || bodySize > size - ITEM_SIZE_MIN_BYTES) {
    throw invalid('the size of a body', bodySize)
  }
  const propertiesSize = body.readInt16BE(position + BODY + bodySize)
  if (propertiesSize !== size - ITEM_SIZE_MIN_BYTES - bodySize) {
    throw invalid('the size of the properties', propertiesSize)
  }
  return size
}

function invalid(problem: string, found: number): BrokerError {
  return new BrokerError('MESSAGE_INVALID', { problem, found })
}
