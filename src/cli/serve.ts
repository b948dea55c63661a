import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { loadOptions, type LoadedOptions } from '../core/config/index.ts'
import { realPlatform, type Platform, type Timer } from '../core/platform/index.ts'
import type { RunningServer } from '../server/index.ts'
import { exitCodes, type ExitCode } from './exit-code.ts'
import { addOptionFlags, optionValues } from './option-flags.ts'
import { readyText } from './ready-text.ts'
import { StopSignal } from './stop-signal.ts'
import { version } from './version.ts'

/** Longest time from a signal to the end of the process. */
const STOP_MS_MAX = 5000

const DEFAULT_FILE = 'orrery.json'

/** `orrery serve`: runs name server and broker until a signal or a failure of the disk. */
export function addServe(program: Command, setExitCode: (code: ExitCode) => void): void {
  const command = program
    .command('serve')
    .description('run the name server and the broker in this process')
    .option('--config <file>', `options as JSON; default ${DEFAULT_FILE} when there is one here`)
    .option('-c, --broker-conf <file>', "options in RocketMQ's own names")
  addOptionFlags(command)
  command.action(async () => {
    setExitCode(await serve(command.opts()))
  })
}

async function serve(flags: Readonly<Record<string, unknown>>): Promise<ExitCode> {
  const stopSignal = new StopSignal(() => process.exit(exitCodes.failed))
  const { options, warnings } = load(flags)
  const platform = realPlatform({ logLevel: options.logLevel })
  for (const warning of warnings) platform.log.warn(warning)
  // Loaded here, so that the other commands start without the broker.
  const { startServer } = await import('../server/index.ts')
  const server = await startServer(options, platform, version())
  console.log(readyText(server, version(), options.json))
  const failure = await Promise.race([server.failed, stopSignal.first])
  if (failure !== undefined) platform.log.error('the broker stops after a failure', failure)
  const stopped = await stopWithin(server, platform)
  return failure === undefined && stopped ? exitCodes.ok : exitCodes.failed
}

function load(flags: Readonly<Record<string, unknown>>): LoadedOptions {
  const environment = process.env
  const configFile = path(flags['config']) ?? environment['ORRERY_CONFIG'] ?? defaultFile()
  const brokerConf = path(flags['brokerConf']) ?? environment['ORRERY_BROKER_CONF']
  return loadOptions({
    flags: optionValues(flags),
    environment,
    ...(configFile === undefined ? {} : { configFile }),
    ...(brokerConf === undefined ? {} : { brokerConf }),
  })
}

function path(flag: unknown): string | undefined {
  return typeof flag === 'string' ? flag : undefined
}

function defaultFile(): string | undefined {
  return existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined
}

/** False when it took too long or failed; both are in the log. */
async function stopWithin(server: RunningServer, platform: Platform): Promise<boolean> {
  let timer: Timer | undefined
  const late = new Promise<'late'>(resolve => {
    timer = platform.timers.after(STOP_MS_MAX, () => resolve('late'))
  })
  try {
    const outcome = await Promise.race([server.stop(), late])
    if (outcome === 'late') platform.log.error('stopping took too long and is given up')
    return outcome !== 'late'
  } catch (error) {
    platform.log.error('stopping failed', error)
    return false
  } finally {
    timer?.cancel()
  }
}
