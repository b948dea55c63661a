import { expect, test } from 'vitest'
import { sealedRecord } from '../../model/message/testing.ts'
import { BulkChanges } from './bulk-changes.ts'

const ORDERS = [
  ['a change of another kind', { change: { kind: 'pause' }, filter: {} }],
  ['a filter with another condition', { change: { kind: 'cancel' }, filter: { owner: 'a' } }],
] as const

test.each(ORDERS)('%s in the manifest is damage, with file and hint', (_name, order) => {
  expect(() => new BulkChanges([{ offset: 7, order }])).toThrow(
    expect.objectContaining({
      code: 'STORE_DAMAGED',
      details: expect.objectContaining({
        file: 'manifest',
        offset: 7,
        hint: expect.stringContaining('the build that wrote it'),
      }),
    }),
  )
})

test.each([...ORDERS, ['no JSON', undefined] as const])(
  '%s in the log is damage, with its offset and a hint',
  (_name, order) => {
    const body = Buffer.from(order === undefined ? '{' : JSON.stringify(order))
    const record = sealedRecord({ body, bodyEnd: body.length })
    expect(() => new BulkChanges(undefined).applied(4_096, record, 0)).toThrow(
      expect.objectContaining({
        code: 'STORE_DAMAGED',
        details: expect.objectContaining({
          offset: 4_096,
          hint: expect.stringContaining('the build that wrote it'),
        }),
      }),
    )
  },
)
