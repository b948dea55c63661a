import { Command } from 'commander'
import { expect, test } from 'vitest'
import { loadOptions, optionFlag, optionNames, type Options } from '../core/config/index.ts'
import { addOptionFlags, optionValues } from './option-flags.ts'

function parse(...argv: string[]): Options {
  const command = new Command()
  addOptionFlags(command)
  command.parse(argv, { from: 'user' })
  return loadOptions({ flags: optionValues(command.opts()) }).options
}

test('every option of the table has its flag and its help', () => {
  const command = new Command()
  addOptionFlags(command)
  const help = command.helpInformation()
  expect(optionNames.filter(name => !help.includes(optionFlag(name)))).toEqual([])
})

test('no flag given leaves every option at its default', () => {
  expect(parse()).toEqual(loadOptions({}).options)
})

test('flags reach the options of their names', () => {
  const options = parse('--timer-delay-ms-max', '30d', '--remoting-port=4000', '--data', '-folder')
  expect(options.timer.delayMsMax).toBe(30 * 86_400_000)
  expect(options.remotingPort).toBe(4000)
  expect(options.data).toBe('-folder')
})

test('a switch alone is on, and takes on and off', () => {
  expect(parse('--json').json).toBe(true)
  expect(parse('--json', 'off').json).toBe(false)
  expect(parse('--remoting-fast-port', 'off').remoting.fastPort).toBe(false)
  expect(parse('--json', '--remoting-port', '5000').remotingPort).toBe(5000)
})
