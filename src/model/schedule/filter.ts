import { findProperty, PROPERTY } from '../message/index.ts'

/**
 * Which waiting messages are meant: those that all conditions hold for. Empty: all. Texts have 1 to
 * 255 characters.
 */
export interface ScheduleFilter {
  readonly topic?: string | undefined
  /** The tag, as a whole. */
  readonly tag?: string | undefined
  /** One of its keys, or its own key. */
  readonly key?: string | undefined
  /** What one of its keys, or its own key, begins with. */
  readonly keyPrefix?: string | undefined
  /** Earliest deliver time, included. */
  readonly fromMs?: number | undefined
  /** Latest deliver time, not included. */
  readonly toMs?: number | undefined
  readonly state?: ScheduledState | undefined
}

/** Waits for its deliver time; or that has come, and its topic refuses it. */
export type ScheduledState = 'scheduled' | 'parked'

/** Whether the filter asks for more than deliver times and state. */
export function asksForProperties({ topic, tag, key, keyPrefix }: ScheduleFilter): boolean {
  return [topic, tag, key, keyPrefix].some(condition => condition !== undefined)
}

/** Whether the properties of an accept record are what the filter asks for. */
export function matchesProperties(filter: ScheduleFilter, properties: string): boolean {
  const { topic, tag } = filter
  if (topic !== undefined && findProperty(properties, PROPERTY.REAL_TOPIC) !== topic) return false
  if (tag !== undefined && findProperty(properties, PROPERTY.TAGS) !== tag) return false
  return hasKey(filter, properties)
}

/** The words of `KEYS`, then the own key. */
export function keysOf(properties: string): readonly string[] {
  const words = findProperty(properties, PROPERTY.KEYS)?.split(' ') ?? []
  const own = findProperty(properties, PROPERTY.ORRERY_KEY)
  return [...words, ...(own === undefined ? [] : [own])].filter(word => word !== '')
}

function hasKey({ key, keyPrefix }: ScheduleFilter, properties: string): boolean {
  if (key === undefined && keyPrefix === undefined) return true
  return keysOf(properties).some(word => {
    return (key === undefined || word === key) && word.startsWith(keyPrefix ?? '')
  })
}
