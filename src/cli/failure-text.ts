import { BrokerError, errorSpecs } from '../core/base/index.ts'

/** What the command line prints on standard error when a command fails. Ends without a line break. */
export function failureText(error: unknown, json: boolean): string {
  if (!(error instanceof BrokerError)) {
    // Nobody foresaw it, so the place is worth more than a sentence.
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return json ? JSON.stringify({ error: { message } }) : `orrery: ${message}`
  }
  const { code, details } = error
  const { message } = errorSpecs[code]
  if (json) return JSON.stringify({ error: { code, message, details } })
  const facts = Object.entries(details).map(([name, value]) => `  ${name}: ${value}`)
  return [`orrery: ${message} [${code}]`, ...facts].join('\n')
}
