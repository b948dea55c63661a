/** The options of a broker: one table, and where their values come from. */
export { foreignKeyNotes } from './broker-conf.ts'
export { loadOptions, type LoadedOptions, type OptionSources } from './load-options.ts'
export {
  optionFlag,
  optionNames,
  optionSpec,
  optionVariable,
  type OptionName,
  type Options,
  type OptionSpec,
} from './option-table.ts'
export { rangeText, valueText } from './option-value.ts'
