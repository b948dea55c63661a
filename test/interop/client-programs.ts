/** The test programs around other people's clients, and how each is built and started. */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from './command.ts'
import { runOrThrow } from './command.ts'
import { type JarCopier, prepare, PREPARE_MS, type Prepared } from './preparation.ts'
import type { CancelWay } from './cancel-judge.ts'
import type { Kind } from './plan.ts'

export interface Folders {
  /** Of the repository. */
  readonly root: string
  readonly cache: string
  readonly jarCopier: JarCopier
}

/** Starts a test program with arguments of the form `name=value`. */
export type Launch = (args: readonly string[]) => Command

export interface ClientProgram {
  readonly name: string
  /** How this client's users write the kind. */
  readonly kindNames: Readonly<Record<Exclude<Kind, 'plain' | 'level'>, string>>
  readonly hasRetryTest: boolean
  /** How its program can cancel a message. */
  readonly cancelWays: readonly CancelWay[]
  prepare(folders: Folders): Promise<Prepared<Launch>>
}

const byProperty = {
  'delay-sec': 'TIMER_DELAY_SEC',
  'delay-ms': 'TIMER_DELAY_MS',
  'deliver-ms': 'TIMER_DELIVER_MS',
}
const bySetter = {
  'delay-sec': 'setDelayTimeSec',
  'delay-ms': 'setDelayTimeMs',
  'deliver-ms': 'setDeliverTimeMs',
}

export const clientPrograms: readonly ClientProgram[] = [
  {
    name: 'java 4.9.8',
    kindNames: byProperty,
    hasRetryTest: true,
    cancelWays: [],
    prepare: folders => prepareJava(folders, 'java498'),
  },
  {
    name: 'java 5.5.0',
    kindNames: bySetter,
    hasRetryTest: true,
    cancelWays: ['handle', 'five-fields', 'handle-late'],
    prepare: folders => prepareJava(folders, 'java550'),
  },
  {
    name: 'go v2',
    kindNames: { ...byProperty, 'deliver-ms': 'WithDelayTimestamp' },
    hasRetryTest: false,
    cancelWays: ['mark'],
    prepare: prepareGo,
  },
  {
    name: 'python 0.4.4',
    kindNames: byProperty,
    hasRetryTest: false,
    cancelWays: [],
    prepare: preparePython,
  },
  {
    name: 'node 3.12.0',
    kindNames: byProperty,
    hasRetryTest: false,
    cancelWays: [],
    prepare: prepareNode,
  },
]

function sourceFolder({ root }: Folders, name: string): string {
  return join(root, 'test/interop/clients', name)
}

/** The clients write logs and offsets below the home folder, which is therefore ours. */
function homeFolder({ cache }: Folders): string {
  const home = join(cache, 'home')
  mkdirSync(home, { recursive: true })
  return home
}

async function prepareJava(folders: Folders, version: string): Promise<Prepared<Launch>> {
  const folder = join(folders.cache, version)
  const own = sourceFolder(folders, version)
  const shared = sourceFolder(folders, 'java')
  const classes = join(folder, 'classes')
  const jars = join(folder, 'jars')
  const prepared = await prepare({
    programs: ['java', 'javac', 'mvn'],
    folder,
    sources: [own, shared],
    make: async () => {
      await folders.jarCopier.copy(own, jars)
      const sources = [own, shared]
        .map(source => join(source, 'interop'))
        .flatMap(source => readdirSync(source).map(name => join(source, name)))
      const args = ['--release', '17', '-cp', join(jars, '*'), '-d', classes, ...sources]
      await runOrThrow({ program: 'javac', args }, PREPARE_MS)
    },
  })
  if (prepared.kind === 'missing') return prepared
  const home = homeFolder(folders)
  const fixed = ['-Xms64m', '-Xmx256m', `-Duser.home=${home}`]
  fixed.push('-cp', `${classes}:${join(jars, '*')}`, 'interop.Main')
  return {
    kind: 'ready',
    ready: args => ({ program: 'java', args: [...fixed, ...args], cwd: home }),
  }
}

async function prepareGo(folders: Folders): Promise<Prepared<Launch>> {
  const folder = join(folders.cache, 'go')
  const source = sourceFolder(folders, 'go')
  const program = join(folder, 'client')
  const prepared = await prepare({
    programs: ['go'],
    folder,
    sources: [source],
    make: async () => {
      const args = ['build', '-mod=readonly', '-o', program, '.']
      await runOrThrow({ program: 'go', args, cwd: source }, PREPARE_MS)
    },
  })
  if (prepared.kind === 'missing') return prepared
  const logFile = `logFile=${join(folder, 'client.log')}`
  return {
    kind: 'ready',
    ready: args => ({ program, args: [...args, logFile], cwd: homeFolder(folders) }),
  }
}

async function preparePython(folders: Folders): Promise<Prepared<Launch>> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { kind: 'missing', reason: 'its library exists for Linux on x64 only' }
  }
  const folder = join(folders.cache, 'python')
  const source = sourceFolder(folders, 'python')
  const python = join(folder, 'venv/bin/python')
  const prepared = await prepare({
    programs: ['python3'],
    folder,
    sources: [source],
    make: async () => {
      const venv = ['-m', 'venv', join(folder, 'venv')]
      await runOrThrow({ program: 'python3', args: venv }, PREPARE_MS)
      const args = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check']
      args.push('-r', join(source, 'requirements.txt'))
      await runOrThrow({ program: python, args }, PREPARE_MS)
    },
  })
  if (prepared.kind === 'missing') return prepared
  const home = homeFolder(folders)
  return {
    kind: 'ready',
    ready: args => ({
      program: python,
      args: [join(source, 'client.py'), ...args],
      cwd: home,
      env: { HOME: home, PYTHONDONTWRITEBYTECODE: '1' },
    }),
  }
}

async function prepareNode(folders: Folders): Promise<Prepared<Launch>> {
  const folder = join(folders.cache, 'node')
  const source = sourceFolder(folders, 'node')
  const prepared = await prepare({
    programs: ['npm'],
    folder,
    sources: [source],
    make: async () => {
      for (const name of ['package.json', 'package-lock.json', 'client.js']) {
        copyFileSync(join(source, name), join(folder, name))
      }
      const args = ['ci', '--no-audit', '--no-fund']
      await runOrThrow({ program: 'npm', args, cwd: folder }, PREPARE_MS)
    },
  })
  if (prepared.kind === 'missing') return prepared
  return {
    kind: 'ready',
    ready: args => ({
      program: process.execPath,
      args: [join(folder, 'client.js'), ...args],
      cwd: homeFolder(folders),
    }),
  }
}
