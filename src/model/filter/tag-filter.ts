import { BrokerError } from '../../core/base/index.ts'
import { javaHash } from '../message/index.ts'

/** Which messages of a topic a consumer wants. */
export type TagFilter =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'tags'
      readonly tags: readonly string[]
      /** Of the tags, as a consume queue holds them: equal hashes do not prove equal tags. */
      readonly hashes: ReadonlySet<number>
    }

const ALL: TagFilter = { kind: 'all' }

/**
 * Reads `*`, or tags with `||` between them. Nothing at all means `*`; empty parts do not count.
 *
 * Errors: SUBSCRIPTION_INVALID when there is no tag between the separators.
 */
export function parseTagExpression(expression: string | null | undefined): TagFilter {
  const text = expression?.trim() ?? ''
  if (text === '' || text === '*') return ALL
  const tags = text
    .split('||')
    .map(tag => tag.trim())
    .filter(tag => tag !== '')
  if (tags.length === 0) throw new BrokerError('SUBSCRIPTION_INVALID', { expression: text })
  const unique = new Set(tags)
  return { kind: 'tags', tags: [...unique], hashes: new Set(Array.from(unique, javaHash)) }
}

/**
 * True when a message with this hash of its tags may be wanted. The consumer compares the tags
 * themselves.
 */
export function matchesTagsCode(filter: TagFilter, tagsCode: number): boolean {
  return filter.kind === 'all' || filter.hashes.has(tagsCode)
}
