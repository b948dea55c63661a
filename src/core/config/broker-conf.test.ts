import { expect, test } from 'vitest'
import { assert, property, string } from 'fast-check'
import { readBrokerConf } from './broker-conf.ts'

function values(text: string): Record<string, string> {
  const entries = [...readBrokerConf(text).values].map(([name, { raw }]) => [name, raw])
  return Object.fromEntries(entries)
}

test('the names of RocketMQ give our options, in our units', () => {
  const text = `
# a broker
brokerClusterName = DefaultCluster
brokerName=broker-b
brokerId : 0
listenPort 10921
fileReservedTime=48
flushDiskType=ASYNC_FLUSH
timerMaxDelaySec=259200
storePathRootDir=/var/lib/rocketmq
mappedFileSizeCommitLog=104857600
messageDelayLevel=1s  5s \\
    10s
`
  expect(values(text)).toEqual({
    brokerClusterName: 'DefaultCluster',
    brokerName: 'broker-b',
    brokerId: '0',
    remotingPort: '10921',
    retention: '48h',
    flush: 'async',
    'timer.delayMsMax': '259200s',
    data: '/var/lib/rocketmq',
    'log.segmentBytes': '104857600',
    messageDelayLevel: '1s 5s 10s',
  })
})

test('an unknown key and one without effect are warnings that name them', () => {
  const { warnings, problems } = readBrokerConf('deleteWhen=04\nnamesrvAddr=a:9876\n')
  expect(problems).toEqual([])
  expect(warnings).toEqual([
    'broker.conf: deleteWhen is not known here and has no effect',
    'broker.conf: namesrvAddr=a:9876 has no effect: the name server is part of this process, and no other one is told',
  ])
})

test('access control is refused while it is not built, and may be off', () => {
  expect(readBrokerConf('aclEnable=true').problems.map(([key]) => key)).toEqual(['aclEnable'])
  expect(readBrokerConf('aclEnable=false')).toMatchObject({ problems: [], warnings: [] })
})

test('names of the prototype are unknown keys', () => {
  expect(readBrokerConf('constructor=1\ntoString=2').warnings).toHaveLength(2)
})

test('escapes, comments and line ends are those of Java properties', () => {
  expect(
    values('! comment\r\n  brokerName\\u003d = x\r\nstorePathRootDir=C\\:\\\\data\\u0041'),
  ).toEqual({
    data: 'C:\\dataA',
  })
  expect(values('# a comment \\\nbrokerName=after')).toEqual({ brokerName: 'after' })
})

test('no text makes the reader throw', () => {
  assert(
    property(string({ unit: 'binary', maxLength: 200 }), text => {
      expect(() => readBrokerConf(text)).not.toThrow()
    }),
  )
})
