import { type Command, Option } from 'commander'
import {
  optionFlag,
  optionNames,
  optionSpec,
  optionVariable,
  rangeText,
  valueText,
  type OptionName,
} from '../core/config/index.ts'

/** Adds one flag for every entry of the table of options, with its help. */
export function addOptionFlags(command: Command): void {
  for (const name of optionNames) command.addOption(flagOf(name))
}

function flagOf(name: OptionName): Option {
  const spec = optionSpec(name)
  const argument = spec.kind === 'boolean' ? '[on|off]' : `<${spec.kind}>`
  const facts = `Default ${valueText(spec, spec.default)}; ${rangeText(spec)}; ${optionVariable(name)}.`
  const choices = spec.kind === 'choice' ? ` ${choiceText(spec.choices)}` : ''
  return new Option(`${optionFlag(name)} ${argument}`, `${spec.help}${choices} ${facts}`).preset(
    true,
  )
}

function choiceText(choices: Readonly<Record<string, string>>): string {
  return Object.entries(choices)
    .map(([choice, meaning]) => `${choice}: ${meaning}.`)
    .join(' ')
}

/** Values by option name, out of what commander has read. */
export function optionValues(
  parsed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const given = optionNames
    .map(name => [name, parsed[flagOf(name).attributeName()]] as const)
    .filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}
