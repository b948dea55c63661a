import { expect, test } from 'vitest'
import {
  isOptionName,
  optionFlag,
  optionNames,
  optionSpec,
  optionVariable,
} from './option-table.ts'
import { parseOption, valueText } from './option-value.ts'

test('the table has options, and no two share a flag, a variable or a name of RocketMQ', () => {
  const keys = optionNames.flatMap(name => optionSpec(name).brokerConf ?? [])
  expect(optionNames.length).toBeGreaterThan(20)
  expect(new Set(optionNames.map(optionFlag)).size).toBe(optionNames.length)
  expect(new Set(optionNames.map(optionVariable)).size).toBe(optionNames.length)
  expect(new Set(keys).size).toBe(keys.length)
})

test('flag and variable follow from the name', () => {
  expect(optionFlag('remoting.fastPort')).toBe('--remoting-fast-port')
  expect(optionVariable('timer.delayMsMax')).toBe('ORRERY_TIMER_DELAY_MS_MAX')
})

test.each(optionNames)('the default of %s is accepted as it stands and as it is shown', name => {
  const spec = optionSpec(name)
  expect(parseOption(spec, spec.default)).toEqual({ kind: 'value', value: spec.default })
  if (spec.default === '') return
  const shown = valueText(spec, spec.default)
  expect(parseOption(spec, shown)).toEqual({ kind: 'value', value: spec.default })
})

test.each(optionNames)('the limits of %s are accepted and what lies beyond them is not', name => {
  const spec = optionSpec(name)
  if (typeof spec.default !== 'number' || !('min' in spec)) return
  const step = spec.multipleOf ?? 1
  expect(parseOption(spec, spec.min).kind).toBe('value')
  expect(parseOption(spec, spec.max).kind).toBe('value')
  expect(parseOption(spec, spec.min - step).kind).toBe('problem')
  expect(parseOption(spec, spec.max + step).kind).toBe('problem')
})

test.each(optionNames)('the help of %s is made of sentences', name => {
  expect(optionSpec(name).help).toMatch(/^[A-Z].{10,}\.$/)
})

test('a name of the prototype is not an option', () => {
  expect(isOptionName('constructor')).toBe(false)
})
