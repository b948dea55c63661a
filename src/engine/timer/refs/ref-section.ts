import { ManifestFields } from '../../store/index.ts'

/** What the manifest says of an index of waiting messages. */
export interface RefSection {
  /** Log offset up to which the map on disk has everything, at least; 0: it was never needed. */
  readonly writtenTo: number
  /** False while the map is being made again from the messages that wait, or has to be. */
  readonly isWhole: boolean
}

/**
 * The section as it was read; `undefined` is that of a new store, `true` that of an index without
 * a marker, as earlier versions wrote it: it is made again. Errors: STORE_DAMAGED.
 */
export function refSectionOf(section: unknown, name: string): RefSection {
  if (section === undefined) return { writtenTo: 0, isWhole: true }
  if (section === true) return { writtenTo: 0, isWhole: false }
  const fields = new ManifestFields(section, `sections.${name}`)
  return { writtenTo: fields.count('writtenTo'), isWhole: fields.flag('isWhole') }
}
