import { BrokerError, errorSpecs } from '../core/base/index.ts'

/** What the command line prints on standard error when a command fails. Ends without a line break. */
export function failureText(error: unknown, json: boolean): string {
  if (!(error instanceof BrokerError)) return unforeseenText(error, json)
  const { code, details } = error
  const { message } = errorSpecs[code]
  if (json) return JSON.stringify({ error: { code, message, details } })
  const facts = Object.entries(details).map(([name, value]) => `  ${name}: ${value}`)
  return [`orrery: ${message} [${code}]`, ...facts].join('\n')
}

/** Nobody foresaw it, so the place is worth more than a sentence. */
function unforeseenText(error: unknown, json: boolean): string {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  if (!json) return `orrery: ${stack ?? message}`
  const details = stack === undefined ? {} : { stack }
  return JSON.stringify({ error: { code: 'SYSTEM_ERROR', message, details } })
}

/**
 * Whether a command line asks for JSON. Read before it is parsed, because a line that cannot be
 * parsed is answered in JSON too.
 */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  const flags = end < 0 ? argv : argv.slice(0, end)
  const at = flags.findLastIndex(flag => /^--json(=|$)/.test(flag))
  if (at < 0) return false
  const value = flags[at] === '--json' ? flags[at + 1] : flags[at]?.slice('--json='.length)
  return value !== 'off'
}
