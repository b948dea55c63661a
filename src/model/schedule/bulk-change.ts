import { BrokerError } from '../../core/base/index.ts'
import type { ScheduleFilter } from './filter.ts'

/** What is done to all waiting messages that a filter means. */
export type BulkChange =
  | { readonly kind: 'cancel' }
  /** By so much later, or, below 0, earlier; one whose time has come then is delivered at once. */
  | { readonly kind: 'shift'; readonly shiftMs: number }

export interface BulkOrder {
  readonly change: BulkChange
  /** Without a state: whether a message is parked changes by itself. */
  readonly filter: ScheduleFilter
}

const TEXTS = ['topic', 'tag', 'key', 'keyPrefix'] as const
const TIMES = ['fromMs', 'toMs'] as const

/** As the body of its record in the commit log has it: JSON. See docs/formats/commit-log.md. */
export function encodeBulkOrder({ change, filter }: BulkOrder): string {
  return JSON.stringify({ change, filter })
}

/** Errors: PARAMETER_INVALID when it is none, or has what this version does not know. */
export function bulkOrderOf(value: unknown): BulkOrder {
  const { change, filter } = objectOf(value, 'order')
  return {
    change: changeOf(objectOf(change, 'change')),
    filter: filterOf(objectOf(filter, 'filter')),
  }
}

function changeOf({ kind, shiftMs }: Readonly<Record<string, unknown>>): BulkChange {
  if (kind === 'cancel') return { kind }
  if (kind === 'shift' && Number.isSafeInteger(shiftMs)) return { kind, shiftMs: Number(shiftMs) }
  throw invalid('change')
}

function filterOf(fields: Readonly<Record<string, unknown>>): ScheduleFilter {
  const known: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string' && TEXTS.some(each => each === name)) known[name] = value
    else if (typeof value === 'number' && TIMES.some(each => each === name)) known[name] = value
    else throw invalid(`filter.${name}`)
  }
  return known
}

function objectOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw invalid(field)
  return Object.fromEntries(Object.entries(value))
}

function invalid(field: string): BrokerError {
  return new BrokerError('PARAMETER_INVALID', { field, problem: 'not of this form' })
}
