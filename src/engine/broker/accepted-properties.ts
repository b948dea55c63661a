import { BrokerError } from '../../core/base/index.ts'
import {
  appendProperty,
  CRC_PROPERTY_SIZE_BYTES,
  PROPERTIES_SIZE_MAX_BYTES,
  PROPERTY,
  removeProperties,
} from '../../model/message/index.ts'
import { checkLatePolicy } from '../../model/schedule/index.ts'
import { BROKER_PROPERTIES, type PropertyScan } from './property-scan.ts'

const NAME_END = '\u0001'
const PAIR_END = '\u0002'
const UNIQUE_KEY = PROPERTY.UNIQ_KEY + NAME_END

/** Room for what is added when the message is published: `ORRERY_TIMER_ID`, or what a dead letter says. */
const RESERVED_BYTES = 256
const SIZE_MAX_BYTES = PROPERTIES_SIZE_MAX_BYTES - CRC_PROPERTY_SIZE_BYTES - RESERVED_BYTES
const UTF8_BYTES_MAX = 3

/**
 * Errors: NOT_SUPPORTED for half messages, which must not be stored as plain ones, and for
 * deletion marks.
 */
export function checkSupported(scan: PropertyScan): void {
  if (scan.isHalf) {
    throw new BrokerError('NOT_SUPPORTED', { feature: 'transactions', property: 'TRAN_MSG' })
  }
  if (scan.isDeletion) {
    const property = PROPERTY.TIMER_DEL_UNIQKEY
    throw new BrokerError('NOT_SUPPORTED', { feature: 'recall by property', property })
  }
}

/**
 * Holds for everything that is sent, whichever way it goes; only what a retry topic gets is as
 * somebody else once accepted it. Errors: LATE_POLICY_INVALID, LATE_POLICY_NOT_FOR_LEVELS.
 */
export function checkLate({ latePolicy, delays }: PropertyScan): void {
  if (latePolicy !== '') checkLatePolicy(latePolicy, delays)
}

/** What every message gets, as RocketMQ's brokers do: clients' tracing reads it. */
export function addedProperties(regionId: string, clusterName: string): string {
  const region = appendProperty('', PROPERTY.MSG_REGION, regionId)
  const trace = appendProperty(region, PROPERTY.TRACE_ON, 'true')
  return appendProperty(trace, PROPERTY.CLUSTER, clusterName)
}

/**
 * The properties to store: what was sent without what only the broker may say, and with `added`
 * and, where the sender gave none, `uniqueKey`. Ends with a separator.
 */
export function completedProperties(
  sent: string,
  scan: PropertyScan,
  uniqueKey: string,
  added: string,
): string {
  const kept = endedProperties(scan.hasOurs ? removeProperties(sent, BROKER_PROPERTIES) : sent)
  return scan.uniqueKey === undefined
    ? kept + UNIQUE_KEY + uniqueKey + PAIR_END + added
    : kept + added
}

/** With a separator at its end, unless it is empty. */
export function endedProperties(properties: string): string {
  if (properties === '' || properties.endsWith(PAIR_END)) return properties
  return properties + PAIR_END
}

/** Errors: PROPERTIES_TOO_LARGE when the record, now or published, could not hold them. */
export function checkPropertiesSize(properties: string): void {
  if (properties.length * UTF8_BYTES_MAX <= SIZE_MAX_BYTES) return
  const sizeBytes = Buffer.byteLength(properties)
  if (sizeBytes > SIZE_MAX_BYTES) {
    throw new BrokerError('PROPERTIES_TOO_LARGE', { sizeBytes, sizeBytesMax: SIZE_MAX_BYTES })
  }
}
