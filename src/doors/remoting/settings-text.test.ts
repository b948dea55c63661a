import { expect, test } from 'vitest'
import { loadOptions, optionNames } from '../../core/config/index.ts'
import { settingsText } from './settings-text.ts'

test('tools find the settings under the names and in the units that they know', () => {
  const lines = settingsText(loadOptions({}).options).split('\n')
  expect(lines).toContain('brokerName=broker-a')
  expect(lines).toContain('brokerClusterName=DefaultCluster')
  expect(lines).toContain('brokerId=0')
  expect(lines).toContain('listenPort=10911')
  expect(lines).toContain('flushDiskType=SYNC_FLUSH')
  expect(lines).toContain('fileReservedTime=72')
  expect(lines).toContain('autoCreateTopicEnable=true')
  expect(lines).toContain('enablePropertyFilter=false')
})

test('every option is there under our own name', () => {
  const lines = settingsText(loadOptions({}).options).split('\n')
  for (const name of optionNames) {
    expect(
      lines.some(line => line.startsWith(`orrery.${name}=`)),
      name,
    ).toBe(true)
  }
  expect(lines).toContain('orrery.retention=3d')
  expect(lines).toContain('orrery.remoting.fastPort=on')
})
