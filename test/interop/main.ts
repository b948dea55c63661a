/**
 * Other people's clients and servers judge Orrery. See docs/operations/interop.md.
 *
 *     main.js --short | --full [--target orrery|apache] [--only TEXT]
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { startApache } from './apache-server.ts'
import { testCancels } from './cancel-test.ts'
import { type ClientProgram, clientPrograms, type Folders, type Launch } from './client-programs.ts'
import { killAll, run } from './command.ts'
import { testFolderExchange } from './folder-exchange.ts'
import { startOrrery } from './orrery-server.ts'
import { JarCopier, prepare, type Prepared } from './preparation.ts'
import { Report } from './report.ts'
import { type ClientTest, testRetry, testRoundTrip } from './round-trip.ts'
import { type OpenServer, SEGMENT_BYTES, type Server, type ServerKind } from './server.ts'

interface Extent {
  readonly messageCount: number
  readonly retryCount: number
  /** Messages that are cancelled, for each way to cancel. */
  readonly cancelCount: number
  /** 0 leaves the level to the broker. */
  readonly retryLevel: number
  /** How often a folder is opened in the exchange, and the longest delay in it. */
  readonly turnCount: number
  readonly farLevel: number
  readonly timeoutMs: number
}

const shortExtent: Extent = {
  messageCount: 120,
  retryCount: 10,
  cancelCount: 5,
  retryLevel: 1,
  turnCount: 3,
  farLevel: 5,
  timeoutMs: 660_000,
}
const fullExtent: Extent = {
  messageCount: 1_000,
  retryCount: 50,
  cancelCount: 25,
  retryLevel: 0,
  turnCount: 4,
  farLevel: 6,
  timeoutMs: 2_400_000,
}

interface Session {
  readonly folders: Folders
  readonly workFolder: string
  readonly target: ServerKind
  readonly extent: Extent
  readonly report: Report
  readonly isWanted: (name: string) => boolean
}

type Launches = ReadonlyMap<ClientProgram, Prepared<Launch>>

const root = join(import.meta.dirname, '../../..')

async function main(): Promise<boolean> {
  const session = readArguments()
  const { extent, report, workFolder } = session
  const timer = setTimeout(() => {
    report.fail('the whole run', [`took more than ${extent.timeoutMs} ms`])
    report.finish()
    killAll()
    process.exit(1)
  }, extent.timeoutMs)
  try {
    await buildOrrery(session)
    const launches = await prepareClients(session)
    const apacheJars = fetchApache(session)
    await caught(session, 'the clients', testClients(session, launches, apacheJars))
    await caught(session, 'the folders', testFolders(session, launches, apacheJars))
  } catch (error) {
    report.fail('the whole run', [String(error)])
  }
  clearTimeout(timer)
  if (report.failedCount === 0) rmSync(workFolder, { recursive: true, force: true })
  else report.note(`what the servers wrote is kept in ${relative(root, workFolder)}`)
  return report.finish()
}

function readArguments(): Session {
  const { values } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      target: { type: 'string', default: 'orrery' },
      only: { type: 'string', default: '' },
    },
  })
  const { target, only } = values
  if (target !== 'orrery' && target !== 'apache') throw new Error('--target is orrery or apache')
  if (values.short === values.full) throw new Error('say --short or --full')
  const cache = join(root, '.cache/interop')
  mkdirSync(cache, { recursive: true })
  return {
    folders: { root, cache, jarCopier: new JarCopier() },
    workFolder: mkdtempSync(join(cache, 'run-')),
    target,
    extent: values.full ? fullExtent : shortExtent,
    report: new Report(process.env['CI'] === 'true'),
    isWanted: name => name.includes(only),
  }
}

/** The tests run what users run: the build in dist/. */
async function buildOrrery({ target }: Session): Promise<void> {
  if (target === 'apache') return
  const script = join(root, 'scripts/build-if-stale.mjs')
  if (existsSync(script)) {
    const outcome = await run({ program: process.execPath, args: [script], cwd: root }, 300_000)
    const said = [...outcome.lines, outcome.complaints].join(' ')
    if (outcome.exitCode !== 0) throw new Error(`the build failed: ${said}`)
  }
  if (!existsSync(join(root, 'dist/cli/main.js'))) throw new Error('run npm run build first')
}

/** Downloads and builds wait for each other's network and processor, so they run side by side. */
async function prepareClients(session: Session): Promise<Launches> {
  const wanted = clientPrograms.filter(({ name }) => isClientNeeded(session, name))
  const launches = new Map<ClientProgram, Prepared<Launch>>()
  const prepareOne = async (program: ClientProgram): Promise<void> => {
    launches.set(program, await program.prepare(session.folders))
  }
  await Promise.all(
    wanted.map(program => caught(session, `${program.name}: preparation`, prepareOne(program))),
  )
  return launches
}

const FOLDER_CLIENT = 'java 5.5.0'

function isClientNeeded({ isWanted }: Session, name: string): boolean {
  return isWanted(name) || (name === FOLDER_CLIENT && isWanted('folder'))
}

type ApacheJars = Promise<Prepared<string>>

async function testClients(
  session: Session,
  launches: Launches,
  apacheJars: ApacheJars,
): Promise<void> {
  const { report, isWanted, extent, workFolder } = session
  const tests: [ClientProgram, Launch][] = []
  for (const program of clientPrograms) {
    const prepared = launches.get(program)
    if (prepared === undefined || !isWanted(program.name)) continue
    if (prepared.kind === 'ready') tests.push([program, prepared.ready])
    else report.skip(`${program.name}: all`, prepared.reason)
  }
  if (tests.length === 0) return
  const server = await openTarget(session, apacheJars)
  if (server === undefined) return
  const clientTests = tests.map(([program, launch]): ClientTest => ({
    program,
    launch,
    nameserver: server.nameserver,
    workFolder,
    report,
  }))
  const waiting: Promise<void>[] = []
  for (const test of clientTests) {
    const { name, hasRetryTest, cancelWays } = test.program
    await caught(session, name, testRoundTrip(test, extent.messageCount))
    // These wait most of the time, so they may go on beside the other clients.
    if (cancelWays.length > 0) {
      waiting.push(caught(session, name, testCancels(test, extent.cancelCount)))
    }
    if (hasRetryTest) {
      waiting.push(caught(session, name, testRetry(test, extent.retryCount, extent.retryLevel)))
    }
  }
  await Promise.all(waiting)
  const stopping = server.stop().then(() => report.pass(`${server.name} stops cleanly`))
  await caught(session, `${server.name} stops cleanly`, stopping)
}

/** A test that throws has failed; the others go on. */
async function caught({ report }: Session, name: string, test: Promise<void>): Promise<void> {
  try {
    await test
  } catch (error) {
    report.fail(name, [String(error)])
  }
}

async function openTarget(session: Session, apacheJars: ApacheJars): Promise<Server | undefined> {
  const { target, workFolder, report } = session
  const openServer = await serverOpener(session, apacheJars)
  if (openServer.kind === 'missing') {
    report.skip('all clients', openServer.reason)
    return undefined
  }
  return openServer.ready(target, {
    dataFolder: join(workFolder, 'data'),
    homeFolder: join(workFolder, 'home'),
    segmentBytes: SEGMENT_BYTES,
  })
}

async function testFolders(
  session: Session,
  launches: Launches,
  apacheJars: ApacheJars,
): Promise<void> {
  const { report, isWanted, target, extent, workFolder } = session
  if (!isWanted('folder')) return
  const name = 'folders that Orrery and Apache RocketMQ exchange'
  const [client] = [...launches].filter(([program]) => program.name === FOLDER_CLIENT)
  const prepared = client?.[1] ?? { kind: 'missing', reason: `needs the client ${FOLDER_CLIENT}` }
  if (prepared.kind === 'missing') return report.skip(name, prepared.reason)
  const jars = await apacheJars
  if (jars.kind === 'missing') return report.skip(name, jars.reason)
  const openServer: OpenServer = (kind, request) =>
    kind === 'orrery' ? startOrrery(root, request) : startApache(jars.ready, request)
  const firsts: readonly ServerKind[] = target === 'apache' ? ['apache'] : ['orrery', 'apache']
  const exchanges = firsts.map(first =>
    testFolderExchange({
      servers: Array.from({ length: extent.turnCount }, (_, turn) =>
        target === 'apache' || turn % 2 === 0 ? first : other(first),
      ),
      farLevel: extent.farLevel,
      openServer,
      launch: prepared.ready,
      workFolder: join(workFolder, `folder-${first}`),
      report,
    }),
  )
  // They wait for their levels most of the time.
  await Promise.all(exchanges)
}

function other(kind: ServerKind): ServerKind {
  return kind === 'orrery' ? 'apache' : 'orrery'
}

async function serverOpener(
  { target }: Session,
  apacheJars: ApacheJars,
): Promise<Prepared<OpenServer>> {
  if (target === 'orrery') {
    return { kind: 'ready', ready: (_, request) => startOrrery(root, request) }
  }
  const jars = await apacheJars
  if (jars.kind === 'missing') return jars
  return { kind: 'ready', ready: (_, request) => startApache(jars.ready, request) }
}

/** Starts fetching at once, so that it goes on beside the clients' tests. */
function fetchApache(session: Session): ApacheJars {
  if (session.target === 'orrery' && !session.isWanted('folder')) {
    return Promise.resolve({ kind: 'missing', reason: 'nobody asked for it' })
  }
  const jars = prepareApache(session)
  jars.catch(() => undefined) // whoever waits for it is told
  return jars
}

/** The folder of the real server's jars. */
async function prepareApache({ folders }: Session): Promise<Prepared<string>> {
  const source = join(folders.root, 'test/interop/servers/apache550')
  const folder = join(folders.cache, 'apache550')
  const jars = join(folder, 'jars')
  const prepared = await prepare({
    programs: ['java', 'mvn'],
    folder,
    sources: [source],
    make: () => folders.jarCopier.copy(source, jars),
  })
  return prepared.kind === 'missing' ? prepared : { kind: 'ready', ready: jars }
}

for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    killAll()
    process.exit(130)
  })
}
const isWell = await main()
killAll()
process.exit(isWell ? 0 : 1)
