import type { OptionName, Options } from './option-table.ts'

export type Problem = readonly [name: OptionName, problem: string]

/** Options that are right one by one and wrong together. */
export function optionConflicts(options: Options): readonly Problem[] {
  return [...portConflicts(options), ...sizeConflicts(options), ...addressConflicts(options)]
}

function portConflicts(options: Options): readonly Problem[] {
  const { nameserverPort, remotingPort } = options
  if (remotingPort === 0) return []
  const problems: Problem[] = []
  if (remotingPort === nameserverPort) {
    problems.push(['remotingPort', `${remotingPort} is nameserverPort too; choose another`])
  }
  if (!options.remoting.fastPort) return problems
  if (remotingPort <= 2) {
    problems.push([
      'remotingPort',
      `${remotingPort} leaves no port below it; use 3 or more, or remoting.fastPort off`,
    ])
  }
  if (nameserverPort !== 0 && remotingPort - 2 === nameserverPort) {
    problems.push([
      'nameserverPort',
      `${nameserverPort} is remotingPort - 2; choose another, or remoting.fastPort off`,
    ])
  }
  return problems
}

/** Properties, topic and the fixed fields of a record, above the body. */
const RECORD_OVERHEAD_BYTES_MAX = 131_072
/** The log's memory takes records in while others are written: a few of the largest. */
const RECORDS_IN_CACHE_MIN = 4

function sizeConflicts(options: Options): readonly Problem[] {
  const recordBytesMax = options.maxMessageSize + RECORD_OVERHEAD_BYTES_MAX
  const budgets: readonly (readonly [OptionName, number])[] = [
    ['log.segmentBytes', options.log.segmentBytes],
    ['log.cacheBytes', options.log.cacheBytes],
    ['log.unappliedBytes', options.log.unappliedBytes],
    ['timer.stagingBytes', options.timer.stagingBytes],
    ['timer.loadBytes', options.timer.loadBytes],
    ['window.bodyBytes', options.window.bodyBytes],
  ]
  const problems = budgets
    .filter(([, budgetBytes]) => budgetBytes < recordBytesMax)
    .map(([name]): Problem => [
      name,
      `must be at least ${recordBytesMax} (maxMessageSize + 128KiB), or one message may not fit`,
    ])
  const cacheBytesMin = RECORDS_IN_CACHE_MIN * recordBytesMax
  if (options.log.cacheBytes >= recordBytesMax && options.log.cacheBytes < cacheBytesMin) {
    problems.push([
      'log.cacheBytes',
      `must be at least ${cacheBytesMin} (4 x (maxMessageSize + 128KiB)), or large messages wait for each other`,
    ])
  }
  return problems
}

function addressConflicts(options: Options): readonly Problem[] {
  if (options.advertise === '') return []
  const port = Number(options.advertise.slice(options.advertise.lastIndexOf(':') + 1))
  if (port >= 1 && port <= 65_535) return []
  return [['advertise', `${options.advertise} has no port between 1 and 65535`]]
}

/** What is allowed and probably not meant. */
export function optionDoubts(options: Options): readonly string[] {
  const wildcard = options.host === '0.0.0.0' || options.host === '::'
  if (!wildcard || options.advertise !== '') return []
  return [
    `host ${options.host} listens on every address; clients behind NAT or outside a container ` +
      'need advertise (host:port) to find the broker',
  ]
}
