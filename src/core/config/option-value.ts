import type { OptionSpec } from './option-table.ts'

export type OptionValue = string | number | boolean

export type ParsedValue =
  | { readonly kind: 'value'; readonly value: OptionValue }
  /** A sentence part that says what would be right: `use 0 to 65535`. */
  | { readonly kind: 'problem'; readonly problem: string }

type Numeric = Extract<OptionSpec, { readonly default: number }>

const DURATION_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kib: 1024,
  m: 1_048_576,
  mib: 1_048_576,
  g: 1_073_741_824,
  gib: 1_073_741_824,
}

/** Reads a value as flags, the environment or a file hold it. Never replaces a bad one. */
export function parseOption(spec: OptionSpec, raw: unknown): ParsedValue {
  switch (spec.kind) {
    case 'text':
      return parseText(spec, raw)
    case 'boolean':
      return parseSwitch(raw)
    case 'choice':
      return parseChoice(spec, raw)
    case 'integer':
    case 'bytes':
    case 'duration':
      return parseNumber(spec, raw)
  }
}

function parseText(spec: Extract<OptionSpec, { kind: 'text' }>, raw: unknown): ParsedValue {
  const text = typeof raw === 'number' ? String(raw) : raw
  if (typeof text !== 'string') return problem(`use ${spec.range}`)
  if (text === spec.default) return { kind: 'value', value: text }
  if (new RegExp(`^(?:${spec.pattern})$`).test(text)) return { kind: 'value', value: text }
  return problem(`use ${spec.range}`)
}

function parseSwitch(raw: unknown): ParsedValue {
  if (typeof raw === 'boolean') return { kind: 'value', value: raw }
  if (raw === 'true' || raw === 'on') return { kind: 'value', value: true }
  if (raw === 'false' || raw === 'off') return { kind: 'value', value: false }
  return problem('use on or off')
}

function parseChoice(spec: Extract<OptionSpec, { kind: 'choice' }>, raw: unknown): ParsedValue {
  if (typeof raw === 'string') {
    if (Object.hasOwn(spec.choices, raw)) return { kind: 'value', value: raw }
    const refusal = spec.refused?.[raw]
    if (refusal !== undefined) return problem(refusal)
  }
  return problem(`use ${Object.keys(spec.choices).join(' or ')}`)
}

function parseNumber(spec: Numeric, raw: unknown): ParsedValue {
  const value = typeof raw === 'number' ? raw : numberOf(spec.kind, raw)
  const inRange = value !== undefined && value >= spec.min && value <= spec.max
  const step = spec.multipleOf ?? 1
  if (!inRange || value % step !== 0) return problem(`use ${rangeText(spec)}`)
  return { kind: 'value', value }
}

function numberOf(kind: Numeric['kind'], raw: unknown): number | undefined {
  if (typeof raw !== 'string') return undefined
  const match = /^(\d{1,15})\s?([A-Za-z]*)$/.exec(raw.trim())
  if (match === null) return undefined
  const [, digits = '', word = ''] = match
  const factor = unitFactor(kind, word)
  return factor === undefined ? undefined : Number(digits) * factor
}

function unitFactor(kind: Numeric['kind'], word: string): number | undefined {
  switch (kind) {
    case 'duration':
      return DURATION_UNITS[word]
    case 'bytes':
      return BYTE_UNITS[word.toLowerCase()]
    case 'integer':
      return word === '' ? 1 : undefined
  }
}

function problem(text: string): ParsedValue {
  return { kind: 'problem', problem: text }
}

/** What a value may be, in words: `0 to 65535`, `sync or async`. */
export function rangeText(spec: OptionSpec): string {
  switch (spec.kind) {
    case 'text':
      return spec.range
    case 'boolean':
      return 'on or off'
    case 'choice':
      return Object.keys(spec.choices).join(' or ')
    case 'integer':
    case 'bytes':
    case 'duration':
      return numberRangeText(spec)
  }
}

function numberRangeText(spec: Numeric): string {
  const least = valueText(spec, spec.min)
  const range = spec.min === spec.max ? least : `${least} to ${valueText(spec, spec.max)}`
  if (spec.multipleOf === undefined) return range
  return `${range}, a multiple of ${spec.multipleOf}`
}

/** A value as an operator would write it: `72h`, `4MiB`, `on`; `none` for an empty text. */
export function valueText(spec: OptionSpec, value: OptionValue): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string') return value === '' ? 'none' : value
  switch (spec.kind) {
    case 'duration':
      return inUnits(value, { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 })
    case 'bytes':
      return inUnits(value, { GiB: 1_073_741_824, MiB: 1_048_576, KiB: 1024, '': 1 })
    case 'integer':
    case 'text':
    case 'boolean':
    case 'choice':
      return String(value)
  }
}

/** In the largest unit that divides it. */
function inUnits(value: number, units: Readonly<Record<string, number>>): string {
  if (value === 0) return '0'
  for (const [name, factor] of Object.entries(units)) {
    if (value % factor === 0) return `${value / factor}${name}`
  }
  return String(value)
}
