import { BrokerError } from '../../core/base/index.ts'

const LENGTH_MAX = 255

/** An own key has 1 to 255 characters, none of which separates properties. Errors: as given. */
export function checkOwnKey(key: string, code: 'MESSAGE_INVALID' | 'PARAMETER_INVALID'): void {
  const isShort = key.length > 0 && key.length <= LENGTH_MAX
  if (isShort && !key.includes('\u0001') && !key.includes('\u0002')) return
  const problem = `1 to ${LENGTH_MAX} characters, not U+0001 or U+0002`
  throw new BrokerError(code, { field: 'own key', problem })
}
