import type { Command } from 'commander'
import { BrokerError } from '../core/base/index.ts'
import { parseDeliverAt, parseDuration, type ScheduleFilter } from '../model/schedule/index.ts'

/** As commander hands them over. */
export interface MeantFlags {
  readonly topic?: string
  readonly tag?: string
  readonly key?: string
  readonly keyPrefix?: string
  readonly from?: string
  readonly to?: string
}

export interface FilterFlags extends MeantFlags {
  readonly state?: string
}

/** Adds the flags by which waiting messages are chosen, for a list or a count. */
export function addFilterFlags(command: Command): void {
  addMeantFlags(command)
  command.option('--state <state>', 'only scheduled, or parked: due, and refused by the topic')
}

/** The same for a change: by state none is chosen, since that changes by itself. */
export function addMeantFlags(command: Command): void {
  command
    .option('--topic <topic>', 'only of this topic')
    .option('--tag <tag>', 'only with this tag')
    .option('--key <key>', 'only with this key')
    .option('--key-prefix <text>', 'only with a key that begins so')
    .option('--from <time>', 'due then or later: 2030-01-31T09:00:00Z, or 15m for in 15 minutes')
    .option('--to <time>', 'due before')
}

/** Errors: COMMAND_LINE_INVALID, those of times. */
export function filterOf(flags: FilterFlags, nowMs: number): ScheduleFilter {
  const { topic, tag, key, keyPrefix, state } = flags
  if (state !== undefined && state !== 'scheduled' && state !== 'parked') {
    throw new BrokerError('COMMAND_LINE_INVALID', { '--state': 'is scheduled or parked' })
  }
  return {
    topic,
    tag,
    key,
    keyPrefix,
    fromMs: timeOf(flags.from, nowMs),
    toMs: timeOf(flags.to, nowMs),
    state,
  }
}

/** An absolute time, or a duration from now on. */
export function timeOf(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  return /^\d{1,10}(?:ms|s|m|h|d)$/.test(text) ? nowMs + parseDuration(text) : parseDeliverAt(text)
}
