import { findProperty, PROPERTY } from '../../model/message/index.ts'
import { entryKeyOfNumber } from './refs/ref-entries.ts'
import { RefIndex, type RefIndexKind, type RefIndexParts } from './refs/ref-index.ts'
import type { RefSource } from './refs/ref-rebuild.ts'
import { refOf } from './timer-tags-code.ts'

const KIND: RefIndexKind<number> = {
  name: 'movedIndex',
  words: 'moved messages',
  keyOf: entryKeyOfNumber,
  /** Who asks by the first id hears so long whether it was cancelled or delivered after the move. */
  keptMs: 30 * 86_400_000,
}

/** By which messages are in the index of moved messages. */
export const MOVED_SOURCE: RefSource<number> = {
  property: PROPERTY.ORRERY_FIRST,
  keyOf: properties => refOf(findProperty(properties, PROPERTY.ORRERY_FIRST)).timerId,
}

/**
 * Where messages are that were moved to another deliver time: a move stores the message anew, under
 * another timer id, and its first id, which its sender knows, leads here to the latest one.
 * See docs/formats/moved-index.md. Errors: those of `RefIndex.open`.
 */
export function openMovedIndex(parts: RefIndexParts, section: unknown): Promise<RefIndex<number>> {
  return RefIndex.open(KIND, parts, section)
}
