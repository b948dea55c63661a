import { BrokerError } from '../../core/base/index.ts'
import {
  appendProperty,
  CRC_PROPERTY_SIZE_BYTES,
  findProperty,
  hasProperty,
  PROPERTIES_SIZE_MAX_BYTES,
  PROPERTY,
  removeProperties,
} from '../../model/message/index.ts'

/** Only the broker gives these a value; a sender that repeats a message it received sends them. */
const OURS: readonly string[] = [
  PROPERTY.POP_CK,
  PROPERTY.CRC32,
  PROPERTY.ORRERY_TIMER_ID,
  PROPERTY.REAL_TOPIC,
  PROPERTY.REAL_QID,
]
const ADDED: readonly string[] = [PROPERTY.MSG_REGION, PROPERTY.TRACE_ON, PROPERTY.CLUSTER]
const DELAYS: readonly string[] = [
  PROPERTY.DELAY,
  PROPERTY.TIMER_DELAY_SEC,
  PROPERTY.TIMER_DELAY_MS,
  PROPERTY.TIMER_DELIVER_MS,
]
/** Room for what is added when the message is published: `ORRERY_TIMER_ID` and its value. */
const RESERVED_BYTES = 64
const SIZE_MAX_BYTES = PROPERTIES_SIZE_MAX_BYTES - CRC_PROPERTY_SIZE_BYTES - RESERVED_BYTES
const UTF8_BYTES_MAX = 3

/**
 * Errors: NOT_SUPPORTED for half messages, which must not be stored as plain ones, and for
 * deletion marks.
 */
export function checkSupported(properties: string): void {
  if (properties.includes(PROPERTY.TRAN_MSG)) {
    if (findProperty(properties, PROPERTY.TRAN_MSG)?.toLowerCase() === 'true') {
      throw new BrokerError('NOT_SUPPORTED', { feature: 'transactions', property: 'TRAN_MSG' })
    }
  }
  if (hasProperty(properties, PROPERTY.TIMER_DEL_UNIQKEY)) {
    const property = PROPERTY.TIMER_DEL_UNIQKEY
    throw new BrokerError('NOT_SUPPORTED', { feature: 'recall by property', property })
  }
}

/** True when a delay may have been asked for. False is certain. */
export function mayHaveDelay(properties: string): boolean {
  return properties.includes('DELAY') || properties.includes('TIMER_DELIVER_MS')
}

/** True when one of the properties that ask for a delay is there. */
export function hasDelay(properties: string): boolean {
  return mayHaveDelay(properties) && DELAYS.some(name => hasProperty(properties, name))
}

export function withoutDelay(properties: string): string {
  return mayHaveDelay(properties) ? removeProperties(properties, DELAYS) : properties
}

/** Takes out what only the broker may say. */
export function cleaned(properties: string): string {
  const rest = removeProperties(properties, OURS)
  return rest.includes(PROPERTY.MSG_REGION) ? removeProperties(rest, ADDED) : rest
}

/** What every message gets, as RocketMQ's brokers do: clients' tracing reads it. */
export function addedProperties(regionId: string, clusterName: string): string {
  const region = appendProperty('', PROPERTY.MSG_REGION, regionId)
  const trace = appendProperty(region, PROPERTY.TRACE_ON, 'true')
  return appendProperty(trace, PROPERTY.CLUSTER, clusterName)
}

/** Errors: PROPERTIES_TOO_LARGE when the record, now or published, could not hold them. */
export function checkPropertiesSize(properties: string): void {
  if (properties.length * UTF8_BYTES_MAX <= SIZE_MAX_BYTES) return
  const sizeBytes = Buffer.byteLength(properties)
  if (sizeBytes > SIZE_MAX_BYTES) {
    throw new BrokerError('PROPERTIES_TOO_LARGE', { sizeBytes, sizeBytesMax: SIZE_MAX_BYTES })
  }
}
