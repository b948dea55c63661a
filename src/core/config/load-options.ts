import { readFileSync } from 'node:fs'
import { BrokerError } from '../base/index.ts'
import { readBrokerConf } from './broker-conf.ts'
import { optionConflicts, optionDoubts } from './option-conflicts.ts'
import { parseOption, type OptionValue } from './option-value.ts'
import {
  isOptionName,
  optionFlag,
  optionNames,
  optionSpec,
  optionVariable,
  type OptionName,
  type Options,
} from './option-table.ts'

export interface OptionSources {
  /** By option name, as the command line gave them. */
  readonly flags?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Path of a JSON file in our own names. */
  readonly configFile?: string
  /** Path of a RocketMQ `broker.conf`. */
  readonly brokerConf?: string
}

export interface LoadedOptions {
  readonly options: Options
  /** What is accepted and has no effect or is probably not meant: for the log. */
  readonly warnings: readonly string[]
}

/**
 * Takes every option from the first of flags, environment, file, `broker.conf` and default that
 * names it. Throws one `OPTION_INVALID` whose details hold every problem, by option or key; a bad
 * value is a problem even where another source overrides it.
 */
export function loadOptions(sources: OptionSources): LoadedOptions {
  return new OptionLoader().load(sources)
}

/** `ORRERY_` variables with a meaning of their own, outside the table. */
const OTHER_VARIABLES: readonly string[] = ['ORRERY_CONFIG', 'ORRERY_BROKER_CONF']

class OptionLoader {
  readonly #values = new Map<OptionName, OptionValue>()
  readonly #problems = new Map<string, string>()
  readonly #warnings: string[] = []

  load(sources: OptionSources): LoadedOptions {
    if (sources.brokerConf !== undefined) this.#takeBrokerConf(sources.brokerConf)
    if (sources.configFile !== undefined) this.#takeFile(sources.configFile)
    this.#takeEnvironment(sources.environment ?? {})
    this.#takeFlags(sources.flags ?? {})
    const options = nested(this.#values)
    for (const [name, problem] of optionConflicts(options)) this.#report(name, problem)
    if (this.#problems.size > 0) {
      throw new BrokerError('OPTION_INVALID', Object.fromEntries(this.#problems))
    }
    return { options, warnings: [...this.#warnings, ...optionDoubts(options)] }
  }

  #takeBrokerConf(path: string): void {
    const text = this.#readText(path)
    if (text === undefined) return
    const conf = readBrokerConf(text)
    for (const [name, { raw, key }] of conf.values) this.#take(name, raw, `${key} in ${path}`)
    for (const [key, problem] of conf.problems) this.#report(key, problem)
    this.#warnings.push(...conf.warnings)
  }

  #takeFile(path: string): void {
    const text = this.#readText(path)
    if (text === undefined) return
    const content = parseJson(text)
    if (!isObject(content)) {
      this.#report(path, 'is not a JSON object; write { "option": value }')
      return
    }
    const seen = new Set<string>()
    for (const [key, raw] of flattened(content)) {
      if (seen.has(key)) this.#report(key, `stands twice in ${path}; keep one`)
      else if (isOptionName(key)) this.#take(key, raw, path)
      else this.#report(key, `is no option (${path}); see docs/operations/configuration.md`)
      seen.add(key)
    }
  }

  #takeEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
    const known = new Map(optionNames.map(name => [optionVariable(name), name]))
    for (const [variable, raw] of Object.entries(environment)) {
      if (raw === undefined || !variable.startsWith('ORRERY_')) continue
      const name = known.get(variable)
      if (name !== undefined) this.#take(name, raw, variable)
      else if (!OTHER_VARIABLES.includes(variable)) {
        this.#warnings.push(`environment: ${variable} is no option and has no effect`)
      }
    }
  }

  #takeFlags(flags: Readonly<Record<string, unknown>>): void {
    for (const [name, raw] of Object.entries(flags)) {
      if (raw === undefined) continue
      if (isOptionName(name)) this.#take(name, raw, optionFlag(name))
      else this.#report(name, 'is no option; see orrery serve --help')
    }
  }

  #take(name: OptionName, raw: unknown, source: string): void {
    const parsed = parseOption(optionSpec(name), raw)
    if (parsed.kind === 'value') this.#values.set(name, parsed.value)
    else this.#report(name, `${shown(raw)} (${source}): ${parsed.problem}`)
  }

  #report(name: string, problem: string): void {
    const earlier = this.#problems.get(name)
    this.#problems.set(name, earlier === undefined ? problem : `${earlier}; ${problem}`)
  }

  #readText(path: string): string | undefined {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      this.#report(
        path,
        `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      )
      return undefined
    }
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Both `{ "timer": { "store": … } }` and `{ "timer.store": … }`. `$schema` is no option. */
function flattened(content: Readonly<Record<string, unknown>>): readonly [string, unknown][] {
  return Object.entries(content)
    .filter(([key]) => key !== '$schema')
    .flatMap(([key, value]): [string, unknown][] =>
      isObject(value)
        ? Object.entries(value).map(([inner, raw]) => [`${key}.${inner}`, raw])
        : [[key, value]],
    )
}

const SHOWN_LENGTH_MAX = 100

function shown(raw: unknown): string {
  const text = typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? String(raw))
  if (text === '') return 'an empty value'
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`
}

/** The one place where values become the typed object: the table gives both names and types. */
function nested(values: ReadonlyMap<OptionName, OptionValue>): Options {
  const root: Record<string, OptionValue | Record<string, OptionValue>> = {}
  const sections = new Map<string, Record<string, OptionValue>>()
  for (const name of optionNames) {
    const value = values.get(name) ?? optionSpec(name).default
    const [first = '', second] = name.split('.')
    if (second === undefined) {
      root[first] = value
    } else {
      const section = sections.get(first) ?? {}
      section[second] = value
      sections.set(first, section)
      root[first] = section
    }
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every name of the table is set
  return root as Options
}
