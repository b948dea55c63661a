import type { OptionSpec } from './option-table.ts'
import { optionNames, optionSpec, type OptionName } from './option-table.ts'

/** A key of RocketMQ that no option stands for: what its value does here. */
interface ForeignKey {
  /** Said when the value is accepted; absent when the value changes nothing. */
  warning(value: string): string | undefined
  /** Said when the value must not be accepted. */
  problem?(value: string): string | undefined
}

const foreignKeys: Readonly<Record<string, ForeignKey>> = {
  namesrvAddr: {
    warning: () =>
      'has no effect: the name server is part of this process, and no other one is told',
  },
  timerWheelEnable: {
    warning: value =>
      value === 'true'
        ? undefined
        : 'has no effect: messages with a deliver time are always accepted',
  },
  timerPrecisionMs: {
    warning: () => 'has no effect: deliver times are kept to the millisecond',
  },
  timerRollWindowSlot: {
    warning: () => 'has no effect: the ladder has no window that messages roll over',
  },
  recallMessageEnable: {
    warning: value =>
      value === 'true' ? undefined : 'has no effect: messages can always be recalled',
  },
  aclEnable: {
    warning: () => undefined,
    problem: value =>
      value === 'false'
        ? undefined
        : 'access control is not built yet; remove it, and admit only trusted hosts',
  },
}

/** RocketMQ's keys without an option of ours, with what they do here; for the documents. */
export const foreignKeyNotes: readonly (readonly [key: string, note: string])[] = Object.entries(
  foreignKeys,
).map(([key, foreign]) => [key, foreign.warning('') ?? foreign.problem?.('') ?? 'has no effect'])

const optionOfKey: ReadonlyMap<string, OptionName> = new Map(
  optionNames.flatMap(name => {
    const key = optionSpec(name).brokerConf
    return key === undefined ? [] : [[key, name] as const]
  }),
)

export interface BrokerConf {
  readonly values: ReadonlyMap<OptionName, { readonly raw: string; readonly key: string }>
  readonly warnings: readonly string[]
  /** By key. */
  readonly problems: readonly (readonly [key: string, problem: string])[]
}

/** Reads the text of a `broker.conf`. A key that nobody knows is a warning, never silence. */
export function readBrokerConf(text: string): BrokerConf {
  const values = new Map<OptionName, { raw: string; key: string }>()
  const warnings: string[] = []
  const problems: [string, string][] = []
  for (const [key, value] of parseProperties(text)) {
    const name = optionOfKey.get(key)
    const foreign = Object.hasOwn(foreignKeys, key) ? foreignKeys[key] : undefined
    if (name !== undefined) {
      values.set(name, { raw: inOurWords(optionSpec(name), value), key })
    } else if (foreign === undefined) {
      warnings.push(`broker.conf: ${key} is not known here and has no effect`)
    } else {
      const problem = foreign.problem?.(value)
      if (problem !== undefined) problems.push([key, `${value} (broker.conf): ${problem}`])
      const warning = foreign.warning(value)
      if (warning !== undefined) warnings.push(`broker.conf: ${key}=${value} ${warning}`)
    }
  }
  return { values, warnings, problems }
}

function inOurWords(spec: OptionSpec, value: string): string {
  const word = spec.brokerConfValues?.[value]
  if (word !== undefined) return word
  if (spec.brokerConfUnit !== undefined && /^\d+$/.test(value)) {
    return `${value}${spec.brokerConfUnit}`
  }
  return spec.kind === 'text' ? value.replace(/\s+/g, ' ') : value
}

/** Java's properties format: comments, `=`, `:` or a space between, `\` escapes and continues. */
function parseProperties(text: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  for (const line of logicalLines(text)) {
    const match = /^((?:\\.|[^\\=:\s])+)\s*[=:]?\s*(.*)$/.exec(line)
    if (match !== null) entries.set(unescape(match[1] ?? ''), unescape(match[2] ?? '').trim())
  }
  return entries
}

function logicalLines(text: string): readonly string[] {
  const lines: string[] = []
  let open = ''
  for (const line of text.split(/\r\n|\n|\r/)) {
    const content = line.trimStart()
    if (open === '' && /^($|[#!])/.test(content)) continue
    const joined = open + content
    const backslashes = /\\*$/.exec(joined)?.[0].length ?? 0
    if (backslashes % 2 === 1) {
      open = joined.slice(0, -1)
    } else {
      lines.push(joined)
      open = ''
    }
  }
  if (open !== '') lines.push(open)
  return lines
}

function unescape(text: string): string {
  return text
    .replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/\\(.)/g, '$1')
}
