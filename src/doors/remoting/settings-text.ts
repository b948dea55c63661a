import {
  optionNames,
  optionSpec,
  valueText,
  type OptionName,
  type Options,
} from '../../core/config/index.ts'

const MS_PER_UNIT = { h: 3_600_000, s: 1000 } as const

/** What RocketMQ's tools look for and is no option here. */
const FIXED: readonly (readonly [name: string, value: string])[] = [
  ['brokerRole', 'ASYNC_MASTER'],
  ['enablePropertyFilter', 'false'],
  ['rejectTransactionMessage', 'true'],
  ['timerWheelEnable', 'true'],
  ['recallMessageEnable', 'true'],
]

/**
 * The settings in force as lines of `name=value`: first under RocketMQ's names and in its units,
 * then under our own.
 */
export function settingsText(options: Options): string {
  const theirs = new Map<string, string>(FIXED)
  const ours = new Map<string, string>()
  for (const name of optionNames) {
    const value = valueOf(options, name)
    const { brokerConf } = optionSpec(name)
    if (brokerConf !== undefined) theirs.set(brokerConf, rocketmqValue(name, value))
    ours.set(`orrery.${name}`, valueText(optionSpec(name), value))
  }
  return [...theirs, ...ours].map(([name, value]) => `${name}=${value}\n`).join('')
}

type Value = string | number | boolean

/** Names have at most one dot: section and key. */
function valueOf(options: Options, name: OptionName): Value {
  const [first = '', second] = name.split('.')
  const value: unknown = Object.entries(options).find(([key]) => key === first)?.[1]
  const found: unknown = second === undefined ? value : entryOf(value, second)
  if (typeof found === 'number' || typeof found === 'boolean') return found
  return typeof found === 'string' ? found : ''
}

function entryOf(section: unknown, name: string): unknown {
  if (typeof section !== 'object' || section === null) return undefined
  return Object.entries(section).find(([key]) => key === name)?.[1]
}

function rocketmqValue(name: OptionName, value: Value): string {
  const { brokerConfUnit, brokerConfValues } = optionSpec(name)
  if (brokerConfUnit !== undefined && typeof value === 'number') {
    return String(Math.round(value / MS_PER_UNIT[brokerConfUnit]))
  }
  const word = Object.entries(brokerConfValues ?? {}).find(([, ours]) => ours === value)?.[0]
  return word ?? String(value)
}
