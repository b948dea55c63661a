#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { addConsume } from './consume.ts'
import { exitCodeOf, exitCodes, type ExitCode } from './exit-code.ts'
import { failureText } from './failure-text.ts'
import { addSend } from './send.ts'
import { addServe } from './serve.ts'
import { version } from './version.ts'

/** Runs one command line to its end; returns the exit code. Prints failures itself. */
async function run(argv: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok
  const program = new Command('orrery')
    .description('A message broker whose speciality is time, for clients of RocketMQ.')
    .version(version())
    .exitOverride()
    .showHelpAfterError('(orrery --help lists commands, orrery COMMAND --help its options)')
  addServe(program, code => {
    exitCode = code
  })
  addSend(program)
  addConsume(program)
  try {
    await program.parseAsync(argv)
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    }
    console.error(failureText(error, argv.includes('--json')))
    return exitCodeOf(error)
  }
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', () => process.exit(exitCodes.ok))

// Ends the process even when a connection of a failed start is still open.
process.exit(await run(process.argv))
