import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { FiredIds } from './fired-ids.ts'
import { removedSectionOf } from './recovered-removals.ts'
import { ladderSectionOf } from './ladder/ladder-section.ts'
import { levelsSectionOf } from './levels/levels-section.ts'
import { parkedSectionOf } from './parked/parked-section.ts'

const CHUNK = {
  number: 5,
  sizeBytes: 256,
  count: 2,
  dueMinMs: 1_800_000_000_000,
  dueMaxMs: 1_800_000_000_001,
  doneBytes: 32,
  doneCount: 0,
  removedCount: 1,
  removedBytes: 143,
  timerIdMin: 12,
}

/** Each section with its reader and a value as the broker writes it. */
const SECTIONS: Readonly<Record<string, { of: (section: unknown) => unknown; shown: object }>> = {
  levels: { of: levelsSectionOf, shown: { offsets: { 1: 7, 18: 0 }, levelsMs: [1000, 5000] } },
  ladder: {
    of: ladderSectionOf,
    shown: {
      firedMs: 1_799_999_999_999,
      firedAhead: [12, 345],
      nextChunkNumber: 6,
      partitions: [
        {
          rung: '1min',
          startMs: 1_800_000_000_000,
          isSplit: false,
          chunks: [{ ...CHUNK, file: '1h/1799997600000-5' }],
        },
      ],
    },
  },
  parked: {
    of: parkedSectionOf,
    shown: { nextNumber: 6, chunks: [{ ...CHUNK, gone: [12] }] },
  },
  fired: { of: section => new FiredIds(section).snapshot(), shown: [12, 345] },
  removed: { of: removedSectionOf, shown: { cancelled: [12, 34], moved: [56, 78] } },
}

/** The detail `field` of the refusal; undefined when the section is taken. */
function refusedField(of: (section: unknown) => unknown, section: unknown): unknown {
  try {
    of(section)
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'STORE_DAMAGED') {
      return error.details['field']
    }
    throw error
  }
  return undefined
}

/** All values that come from `value` when one thing in it, or all of it, becomes null. */
function* spoiled(value: unknown): Generator {
  yield null
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) {
      for (const other of spoiled(each)) yield value.with(index, other)
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      for (const other of spoiled(each)) yield { ...value, [name]: other }
    }
  }
}

describe.each(Object.entries(SECTIONS))('the section %s', (name, { of, shown }) => {
  test('is read as it was written, and may have more names', () => {
    const written: unknown = JSON.parse(JSON.stringify(shown))
    expect(of(written)).toEqual(shown)
    if (!Array.isArray(shown)) expect(of({ ...shown, later: 1 })).toEqual(shown)
  })

  test('is empty in a new store', () => {
    expect(refusedField(of, undefined)).toBeUndefined()
  })

  test('is refused, by its name, whichever of its values is missing', () => {
    for (const section of spoiled(shown)) {
      expect(refusedField(of, section)).toMatch(new RegExp(`^sections\\.${name}\\b`))
    }
  })

  test('is taken or refused, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        refusedField(of, value)
      }),
    )
  })
})

test('a chunk of an older build lies under the name of its partition', () => {
  const { timerIdMin: _, removedBytes: __, ...older } = CHUNK
  const partition = { rung: '1min', startMs: 60_000, isSplit: false, chunks: [older] }
  const { partitions } = ladderSectionOf({ ...SECTIONS['ladder']?.shown, partitions: [partition] })
  expect(partitions[0]?.chunks).toEqual([
    { ...older, file: '1min/60000-5', removedBytes: 0, timerIdMin: 0 },
  ])
})
