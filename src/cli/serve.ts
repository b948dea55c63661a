import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { loadOptions, type LoadedOptions, type Options } from '../core/config/index.ts'
import { realPlatform, type Platform } from '../core/platform/index.ts'
import type { RunningServer } from '../server/index.ts'
import { endProcess } from './end-process.ts'
import { exitCodes, type ExitCode } from './exit-code.ts'
import { keepHeapSmall } from './heap.ts'
import { addOptionFlags, optionValues } from './option-flags.ts'
import { readyText } from './ready-text.ts'
import { runServer } from './run-server.ts'
import { StopSignal } from './stop-signal.ts'
import { version } from './version.ts'

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
  keepHeapSmall()
  const stopSignal = new StopSignal(() => endProcess(exitCodes.failed))
  const { options, warnings } = load(flags)
  const platform = realPlatform({ logLevel: options.logLevel })
  for (const warning of warnings) platform.log.warn(warning)
  return runServer({
    platform,
    starting: start(options, platform),
    stopAsked: stopSignal.first,
    onReady: server => {
      console.log(readyText(server, version(), options.json))
    },
  })
}

async function start(options: Options, platform: Platform): Promise<RunningServer> {
  // Loaded here, so that the other commands start without the broker.
  const { startServer } = await import('../server/index.ts')
  return startServer(options, platform, version())
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
