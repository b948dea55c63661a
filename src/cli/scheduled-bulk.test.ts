import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addScheduled } from './scheduled.ts'

function helpOf(name: string): string {
  const program = new Command()
  addScheduled(program)
  const [scheduled] = program.commands
  const command = scheduled?.commands.find(each => each.name() === name)
  return command?.helpInformation() ?? ''
}

test.each(['cancel-all', 'shift-all'])('%s takes no state, which the broker refuses', name => {
  expect(helpOf(name)).toContain('--key-prefix')
  expect(helpOf(name)).not.toContain('--state')
})

test.each(['list', 'count'])('%s takes a state', name => {
  expect(helpOf(name)).toContain('--state')
})
