import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BrokerError, type ErrorDetails } from '../base/index.ts'
import { loadOptions, type OptionSources } from './load-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'orrery-options-'))
afterAll(() => rmSync(folder, { recursive: true }))

let fileCount = 0

function file(content: string): string {
  const path = join(folder, `file-${fileCount++}`)
  writeFileSync(path, content)
  return path
}

function problems(sources: OptionSources): ErrorDetails {
  try {
    loadOptions(sources)
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'OPTION_INVALID') return error.details
    throw error
  }
  return {}
}

test('without any source every option has its default, and nothing is warned about', () => {
  const { options, warnings } = loadOptions({})
  expect(options).toMatchObject({
    data: './data',
    host: '127.0.0.1',
    nameserverPort: 9876,
    remotingPort: 10_911,
    remoting: { fastPort: true },
    flush: 'sync',
    retention: 72 * 3_600_000,
    maxMessageSize: 4 * 1024 * 1024,
    timer: { store: 'ladder', delayMsMax: 315_576_000_000 },
    log: { segmentBytes: 1024 ** 3 },
    window: { messagesMax: 1_000_000 },
  })
  expect(warnings).toEqual([])
})

test('a flag wins over the environment, that over the file, that over broker.conf', () => {
  const brokerConf = file('brokerName=conf\nbrokerClusterName=conf\nlistenPort=4000\n')
  const configFile = file('{"brokerName":"file","brokerClusterName":"file","data":"file"}')
  const environment = { ORRERY_BROKER_NAME: 'env', ORRERY_DATA: 'env' }
  const { options } = loadOptions({
    brokerConf,
    configFile,
    environment,
    flags: { brokerName: 'flag' },
  })
  expect(options).toMatchObject({
    brokerName: 'flag',
    data: 'env',
    brokerClusterName: 'file',
    remotingPort: 4000,
  })
})

test('all problems of all sources come in one error', () => {
  const brokerConf = file('flushDiskType=NEVER\n')
  const configFile = file('{"timer":{"delayMsMax":-1},"colour":"blue"}')
  const environment = { ORRERY_RETENTION: 'soon' }
  const flags = { remotingPort: '70000', timerstore: 'x' }
  expect(problems({ brokerConf, configFile, environment, flags })).toEqual({
    flush: `NEVER (flushDiskType in ${brokerConf}): use sync or async`,
    'timer.delayMsMax': `-1 (${configFile}): use 1s to 87660h`,
    colour: `is no option (${configFile}); see docs/operations/configuration.md`,
    retention: 'soon (ORRERY_RETENTION): use 1m to 87660h',
    remotingPort: '70000 (--remoting-port): use 0 to 65535',
    timerstore: 'is no option; see orrery serve --help',
  })
})

test('a bad value is a problem even when another source overrides it', () => {
  const environment = { ORRERY_FLUSH: 'maybe' }
  expect(Object.keys(problems({ environment, flags: { flush: 'sync' } }))).toEqual(['flush'])
})

test('durations and sizes are read with their units', () => {
  const { options } = loadOptions({
    flags: { retention: '36h', maxMessageSize: '1MiB', 'timer.delayMsMax': '30d' },
    environment: { ORRERY_CHECKPOINT_INTERVAL_MS: '2500', ORRERY_LOG_CACHE_BYTES: '64m' },
  })
  expect(options.retention).toBe(36 * 3_600_000)
  expect(options.maxMessageSize).toBe(1_048_576)
  expect(options.timer.delayMsMax).toBe(30 * 86_400_000)
  expect(options.checkpointIntervalMs).toBe(2500)
  expect(options.log.cacheBytes).toBe(67_108_864)
})

test.each(['', '-1', '1.5', '1e3', '0x10', ' ', 'NaN', 'Infinity', '9'.repeat(400), '5h', null])(
  'the port %j is refused',
  raw => {
    expect(Object.keys(problems({ flags: { remotingPort: raw } }))).toEqual(['remotingPort'])
  },
)

test('a number of the file is held to range and step like a text', () => {
  const values = [1_048_576.5, 1_048_577, 1e300, Number.NaN, [], {}, true]
  const found = values.filter(
    value => 'log.segmentBytes' in problems({ flags: { 'log.segmentBytes': value } }),
  )
  expect(found).toHaveLength(values.length)
})

test('the file may nest a section or write the dotted name, but not both for one option', () => {
  const nested = loadOptions({ configFile: file('{"timer":{"delayMsMax":"2d"}}') })
  const dotted = loadOptions({ configFile: file('{"timer.delayMsMax":"2d"}') })
  expect(nested.options).toEqual(dotted.options)
  const both = file('{"timer":{"delayMsMax":"2d"},"timer.delayMsMax":"3d"}')
  expect(problems({ configFile: both })).toEqual({
    'timer.delayMsMax': `stands twice in ${both}; keep one`,
  })
})

test.each(['[]', 'null', '{', '"text"', ''])('the file %j is refused as a whole', content => {
  const configFile = file(content)
  expect(problems({ configFile })).toEqual({
    [configFile]: 'is not a JSON object; write { "option": value }',
  })
})

test('a file that is missing is a problem, not a default', () => {
  const configFile = join(folder, 'missing.json')
  expect(problems({ configFile })[configFile]).toMatch(/^cannot be read: ENOENT/)
})

test('names of the prototype are no options', () => {
  const configFile = file('{"constructor":1,"__proto__":2,"toString":3}')
  expect(Object.keys(problems({ configFile })).toSorted()).toEqual([
    '__proto__',
    'constructor',
    'toString',
  ])
})

test('an unknown ORRERY_ variable is a warning, for others may set such names', () => {
  const { warnings } = loadOptions({ environment: { ORRERY_SERVICE_HOST: '10.0.0.1', HOME: '/' } })
  expect(warnings).toEqual(['environment: ORRERY_SERVICE_HOST is no option and has no effect'])
})

test('the wheel store is refused with the reason that it is not built yet', () => {
  expect(problems({ flags: { 'timer.store': 'wheel' } })['timer.store']).toContain('not built yet')
})

test.each([
  [{ remotingPort: '9876' }, 'remotingPort'],
  [{ remotingPort: '9878' }, 'nameserverPort'],
  [{ remotingPort: '2' }, 'remotingPort'],
  [{ 'log.segmentBytes': '4MiB' }, 'log.segmentBytes'],
  [{ 'timer.loadBytes': '4MiB' }, 'timer.loadBytes'],
  [{ maxMessageSize: '8MiB' }, 'log.cacheBytes'],
  [{ advertise: 'broker.example:0' }, 'advertise'],
  [{ advertise: 'broker.example:70000' }, 'advertise'],
])('%j do not go together', (flags, name) => {
  expect(Object.keys(problems({ flags }))).toEqual([name])
})

test('ports that would collide with the fast port are fine once it is off', () => {
  expect(problems({ flags: { remotingPort: '9878', 'remoting.fastPort': 'off' } })).toEqual({})
})

test('listening everywhere without an advertised address is warned about', () => {
  expect(loadOptions({ flags: { host: '0.0.0.0' } }).warnings).toHaveLength(1)
  const flags = { host: '0.0.0.0', advertise: 'broker.example:10911' }
  expect(loadOptions({ flags }).warnings).toEqual([])
})
