import { ManifestFields } from '../../store/index.ts'

/** What the manifest says of the index of own keys. */
export interface KeysSection {
  /** Log offset up to which the map on disk has everything, at least; 0: it was never needed. */
  readonly writtenTo: number
  /** False while the map is being made again from the messages that wait. */
  readonly isWhole: boolean
}

/** The section as it was read; `undefined` is that of a new store. Errors: STORE_DAMAGED. */
export function keysSectionOf(section: unknown): KeysSection {
  if (section === undefined) return { writtenTo: 0, isWhole: true }
  const fields = new ManifestFields(section, 'sections.keys')
  return { writtenTo: fields.count('writtenTo'), isWhole: fields.flag('isWhole') }
}
