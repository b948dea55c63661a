import { digest16 } from '../../../core/base/index.ts'
import { findProperty, PROPERTY } from '../../../model/message/index.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'
import { entryKeyOfText } from '../refs/ref-entries.ts'
import {
  RefIndex,
  type RefIndexKind,
  type RefIndexParts,
  type RefLookup,
} from '../refs/ref-index.ts'
import type { RefSource } from '../refs/ref-rebuild.ts'

const TOPIC_END = '\0'
const KIND: RefIndexKind<string> = {
  name: 'keys',
  words: 'own keys',
  keyOf: entryKeyOfText,
  /** For those who ask a little late: the message with the key was delivered. */
  keptMs: 3_600_000,
}

/** By which messages are in the index of own keys. */
export const KEY_SOURCE: RefSource<string> = {
  property: PROPERTY.ORRERY_KEY,
  keyOf: properties =>
    digestOfKey(
      findProperty(properties, PROPERTY.REAL_TOPIC) ?? '',
      findProperty(properties, PROPERTY.ORRERY_KEY) ?? '',
    ),
}

/** By what the own key of a message is found: topics contain no zero character. */
export function digestOfKey(topic: string, key: string): string {
  return digest16(topic + TOPIC_END + key)
}

/**
 * Which message has an own key: the latest one that was accepted with it, moved or put in the place
 * of another. See docs/formats/key-index.md.
 */
export class KeyIndex {
  /** Those that are durable, by digest. */
  readonly refs: RefIndex<string>
  /** Appended to the log and not durable yet: timer ids by digest. */
  readonly #pending = new Map<string, number>()

  private constructor(refs: RefIndex<string>) {
    this.refs = refs
  }

  /** Errors: those of `RefIndex.open`. */
  static async open(parts: RefIndexParts, section: unknown): Promise<KeyIndex> {
    return new KeyIndex(await RefIndex.open(KIND, parts, section))
  }

  /** A message with this key is in the log at `timerId`, and not durable yet. */
  begin(digest: string, timerId: number): void {
    this.#pending.set(digest, timerId)
  }

  /** Log offset of the latest message with the key, while that is not durable. */
  pendingOffset(digest: string): number | undefined {
    return this.#pending.get(digest)
  }

  /** A message with this key, accepted, moved or in place of another, is durable. In log order. */
  apply(topic: string, key: string, ref: TimerRef): void {
    const digest = digestOfKey(topic, key)
    if (this.#pending.get(digest) === ref.timerId) this.#pending.delete(digest)
    this.refs.set(digest, ref)
  }

  /** Errors: those of `RefIndex.find`. */
  find(digest: string): Promise<RefLookup> {
    return this.refs.find(digest)
  }

  /** In one step: whether what `find` has found is still true. */
  isCurrent(digest: string, lookup: RefLookup): boolean {
    return !this.#pending.has(digest) && this.refs.isCurrent(digest, lookup)
  }
}
