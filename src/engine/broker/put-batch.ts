import { BrokerError } from '../../core/base/index.ts'
import { forEachBatchItem } from '../../model/message/index.ts'
import { checkSupported, hasDelay } from './accepted-properties.ts'
import type { PutRequest } from './put-request.ts'

/** Most messages in a batch: what one request can ask for must be done in one go. */
const MESSAGE_COUNT_MAX = 50_000

/** The messages of a batch, as columns; filled again for every batch. */
export interface BatchParts {
  readonly flags: number[]
  readonly bodyStarts: number[]
  readonly bodyEnds: number[]
  readonly properties: string[]
}

/**
 * Checks all messages of a batch and takes them apart. `complete` makes the properties that are
 * stored out of those that were sent; what it throws refuses the batch.
 *
 * Errors: MESSAGE_INVALID, NOT_SUPPORTED.
 */
export function collectBatch(
  request: PutRequest,
  parts: BatchParts,
  complete: (properties: string) => string,
): void {
  clear(parts)
  if (hasDelay(request.properties)) throw delayInBatch()
  forEachBatchItem(request.body, request.bodyStart, request.bodyEnd, item => {
    if (parts.flags.length === MESSAGE_COUNT_MAX) {
      throw new BrokerError('MESSAGE_INVALID', {
        problem: 'the batch holds too many messages',
        messageCountMax: MESSAGE_COUNT_MAX,
      })
    }
    checkSupported(item.properties)
    if (hasDelay(item.properties)) throw delayInBatch()
    parts.flags.push(item.flag)
    parts.bodyStarts.push(item.bodyStart)
    parts.bodyEnds.push(item.bodyEnd)
    parts.properties.push(complete(item.properties))
  })
}

function clear(parts: BatchParts): void {
  parts.flags.length = 0
  parts.bodyStarts.length = 0
  parts.bodyEnds.length = 0
  parts.properties.length = 0
}

function delayInBatch(): BrokerError {
  return new BrokerError('MESSAGE_INVALID', {
    problem: 'a message of a batch cannot have a delay; send it by itself',
  })
}
