import { BrokerError } from '../../core/base/index.ts'
import { decodeRecallHandle } from '../../model/message/index.ts'
import type { MessageRef, MoveResult } from '../../model/schedule/index.ts'
import type { ExtFields } from '../../model/wire/index.ts'
import { optionalText, requiredText } from './request-fields.ts'

/**
 * The waiting message that a request means: `id`, its recall handle, or `topic` and `key`.
 *
 * Errors: PARAMETER_INVALID.
 */
export function messageRefOf(fields: ExtFields): MessageRef {
  const key = optionalText(fields, 'key')
  if (key === undefined) return { id: requiredText(fields, 'id') }
  if (optionalText(fields, 'id') !== undefined) {
    throw new BrokerError('PARAMETER_INVALID', { field: 'key', problem: 'beside an id' })
  }
  return { topic: requiredText(fields, 'topic'), key }
}

/** Why nothing was changed, by the result. */
export const REFUSED_CHANGES: Readonly<Record<Exclude<MoveResult['kind'], 'moved'>, string>> = {
  cancelled: 'the message is cancelled, and stays so',
  'too-late': 'the message does not wait any more: it is delivered, or about to be',
  unknown: 'no waiting message has this id or key',
}

/** Errors: MESSAGE_ID_INVALID. */
export function topicOfRef(ref: MessageRef): string {
  if ('key' in ref) return ref.topic
  const handle = decodeRecallHandle(ref.id)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  return handle.topic
}
