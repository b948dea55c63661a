/**
 * What the page needs of `src/core/config/index.ts`.
 *
 * @typedef {object} OptionEntry
 * @property {string} name
 * @property {string} flag
 * @property {string} variable
 * @property {string} defaultText
 * @property {string} range
 * @property {string} help
 * @property {boolean} reloadable
 * @property {string | undefined} brokerConf
 * @property {Readonly<Record<string, string>>} choices
 */

const intro = `# Configuration

<!-- Written by scripts/write-configuration-page.mjs from src/core/config/option-table.ts. -->

Every option has one name and four places. The first that names it wins:

1. a flag of \`orrery serve\`: \`--timer-delay-ms-max 30d\`
2. the environment: \`ORRERY_TIMER_DELAY_MS_MAX=30d\`
3. the file given with \`--config FILE\` (or \`ORRERY_CONFIG\`; else \`orrery.json\` in the working directory, if
   there is one): \`{ "timer": { "delayMsMax": "30d" } }\` or \`{ "timer.delayMsMax": "30d" }\`
4. a RocketMQ \`broker.conf\` given with \`-c FILE\` (or \`ORRERY_BROKER_CONF\`): \`timerMaxDelaySec=2592000\`

Durations take \`ms\`, \`s\`, \`m\`, \`h\`, \`d\`, and mean milliseconds without a unit; sizes take \`KiB\`, \`MiB\`, \`GiB\`
(also \`k\`, \`m\`, \`g\`), and mean bytes without one; switches take \`on\` and \`off\`. A value that is out of range
is never replaced by a near one: the broker does not start, lists every problem of every place at once, and
exits with 2. An unknown flag or key of the JSON file is such a problem. An unknown key of a \`broker.conf\`, or
an unknown \`ORRERY_\` variable, is a warning in the log.

## Options
`

/**
 * The text of `docs/operations/configuration.md`.
 *
 * @param {readonly OptionEntry[]} options
 * @param {readonly (readonly [key: string, note: string])[]} foreignKeys
 * @returns {string}
 */
function configurationPage(options, foreignKeys) {
  const foreign = foreignKeys.map(([key, note]) => `| \`${key}\` | ${note} |`)
  return [
    intro,
    ...options.map(section),
    '## Other names of RocketMQ in a `broker.conf`\n',
    'These are accepted where they cannot mislead, and each says in the log what it does here.\n',
    '| key | here |',
    '| --- | --- |',
    ...foreign,
    '',
  ].join('\n')
}

/** @param {OptionEntry} option */
function section(option) {
  const choices = Object.entries(option.choices).map(
    ([choice, meaning]) => `- \`${choice}\`: ${meaning}`,
  )
  const rows = [
    ['default', `\`${option.defaultText}\``],
    ['range', option.range],
    ['flag', `\`${option.flag}\``],
    ['environment', `\`${option.variable}\``],
    ...(option.brokerConf === undefined ? [] : [['broker.conf', `\`${option.brokerConf}\``]]),
    ['takes effect', option.reloadable ? 'at once' : 'at the next start'],
  ]
  return [
    `### \`${option.name}\`\n`,
    `${option.help}\n`,
    ...(choices.length === 0 ? [] : [...choices, '']),
    '| | |',
    '| --- | --- |',
    ...rows.map(([name, value]) => `| ${name} | ${value} |`),
    '',
  ].join('\n')
}

/**
 * The page for the module `config`, from the sources or from the build.
 *
 * @param {Pick<typeof import('../src/core/config/index.ts'), 'optionNames' | 'optionSpec' | 'optionFlag' | 'optionVariable' | 'valueText' | 'rangeText' | 'foreignKeyNotes'>} config
 * @returns {string}
 */
export function pageOf(config) {
  const entries = config.optionNames.map(name => {
    const spec = config.optionSpec(name)
    return {
      name,
      flag: config.optionFlag(name),
      variable: config.optionVariable(name),
      defaultText: config.valueText(spec, spec.default),
      range: config.rangeText(spec),
      help: spec.help,
      reloadable: spec.reloadable,
      brokerConf: spec.brokerConf,
      choices: spec.kind === 'choice' ? spec.choices : {},
    }
  })
  return configurationPage(entries, config.foreignKeyNotes)
}
