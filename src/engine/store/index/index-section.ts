import { BrokerError } from '../../../core/base/index.ts'
import { ManifestFields } from '../manifest-fields.ts'
import { emptyIndexHeader, type IndexHeader } from './index-layout.ts'

/** What the manifest says of the message index. */
export interface IndexSection {
  /** Greatest name at that time, also of files that are not ours to read. */
  readonly lastName: string
  /** Empty when there was no file. */
  readonly fileName: string
  /** Without the count of used slots. */
  readonly header: IndexHeader
}

/** `undefined` while no checkpoint has known the index. Errors: STORE_DAMAGED. */
export function indexSectionOf(value: unknown): IndexSection | undefined {
  if (value === undefined) return undefined
  const fields = new ManifestFields(value, 'sections.messageIndex')
  const lastName = fields.text('lastName')
  if (!fields.has('newest')) return { lastName, fileName: '', header: emptyIndexHeader() }
  const newest = fields.object('newest')
  const fileName = newest.text('fileName')
  if (!/^\d{17}$/.test(fileName)) {
    const field = 'sections.messageIndex.newest.fileName'
    throw new BrokerError('STORE_DAMAGED', { file: 'manifest', field, problem: 'no name' })
  }
  return {
    lastName,
    fileName,
    header: {
      beginTimeMs: newest.timeMs('beginTimeMs'),
      endTimeMs: newest.timeMs('endTimeMs'),
      beginOffset: newest.count('beginOffset'),
      endOffset: newest.count('endOffset'),
      usedSlotCount: 0,
      nextItem: newest.count('nextItem'),
    },
  }
}
