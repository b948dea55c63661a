import { ManifestFields } from '../../store/index.ts'

/** What the manifest says of the delay levels. */
export interface LevelsSection {
  /** Next queue offset by level. */
  readonly offsets: Readonly<Record<string, number>>
  /** The table in force, for records that a crash leaves to be applied again. */
  readonly levelsMs: readonly number[]
}

/** The section as it was read; `undefined` in a new store. Errors: STORE_DAMAGED. */
export function levelsSectionOf(section: unknown): LevelsSection | undefined {
  if (section === undefined) return undefined
  const fields = new ManifestFields(section, 'sections.levels')
  return { offsets: fields.countTable('offsets'), levelsMs: fields.timesMs('levelsMs') }
}
