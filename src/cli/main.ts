#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { BrokerError } from '../core/base/index.ts'
import { addConsume } from './consume.ts'
import { endProcess } from './end-process.ts'
import { exitCodeOf, exitCodes, type ExitCode } from './exit-code.ts'
import { failureText, wantsJson } from './failure-text.ts'
import { addForecast } from './forecast.ts'
import { addScheduled } from './scheduled.ts'
import { addSend } from './send.ts'
import { addServe } from './serve.ts'
import { addVerify } from './verify.ts'
import { version } from './version.ts'

/** Runs one command line to its end; returns the exit code. Prints failures itself. */
async function run(argv: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok
  const json = wantsJson(argv)
  const program = new Command('orrery')
    .description('A message broker whose speciality is time, for clients of RocketMQ.')
    .version(version())
    .exitOverride()
    .configureOutput({
      // All failures are printed in one place, below; what is left is help that nobody asked for.
      outputError: () => undefined,
      ...(json ? { writeErr: () => undefined } : {}),
    })
  const setExitCode = (code: ExitCode): void => {
    exitCode = code
  }
  addServe(program, setExitCode)
  addSend(program)
  addConsume(program)
  addVerify(program, setExitCode)
  addScheduled(program)
  addForecast(program)
  try {
    await program.parseAsync(argv)
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
    const failure = error instanceof CommanderError ? misuseOf(error) : error
    console.error(failureText(failure, json))
    return exitCodeOf(failure)
  }
}

function misuseOf(error: CommanderError): BrokerError {
  const problem =
    error.code === 'commander.help'
      ? 'a command is missing: serve, send, consume or scheduled'
      : error.message.replace(/^error: /, '')
  return new BrokerError('COMMAND_LINE_INVALID', { problem })
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', () => process.exit(exitCodes.ok))

// Ends the process even when a connection of a failed start is still open.
endProcess(await run(process.argv))
