import { BrokerError } from '../../core/base/index.ts'

/** As long as the longest topic and the longest own key. */
const LENGTH_MAX = 255

/**
 * A topic, tag, key or beginning of a key that waiting messages are chosen by has 1 to 255
 * characters: changes by filter are kept with their texts. Errors: PARAMETER_INVALID.
 */
export function checkAskedText(field: string, text: string | undefined): void {
  if (text === undefined || (text.length > 0 && text.length <= LENGTH_MAX)) return
  throw new BrokerError('PARAMETER_INVALID', { field, problem: `1 to ${LENGTH_MAX} characters` })
}
