import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'

/**
 * GET_BROKER_CONFIG (26): the settings in force.
 *
 * Request   nothing
 * Response  version: DataVersion as JSON, of the start, for settings do not change later; body
 *           lines of `name=value`
 */
export const getBrokerConfig: Processor = {
  code: REQUEST_CODE.GET_BROKER_CONFIG,
  name: 'GET_BROKER_CONFIG',
  action: 'read',
  resources: () => [],
  handle(_request, { identity, statistics }) {
    const timestamp = statistics.startTimeMs
    const version = JSON.stringify({ counter: 0, stateVersion: 0, timestamp })
    const body = Buffer.from(identity.settingsText)
    return { code: RESPONSE_CODE.SUCCESS, extFields: { version }, body }
  },
}
