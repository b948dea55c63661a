/** Starts a real Apache RocketMQ 5.5.0, name server and broker, from the jars of Maven Central. */
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildProcess } from 'node:child_process'
import { start, stop } from './command.ts'
import { hasRoute } from './route-query.ts'
import type { Server, ServerRequest } from './server.ts'

/** A busy machine with two cores takes two minutes. */
const READY_MS = 180_000
/** Every broker has it: new topics take their settings from it. */
const DEFAULT_TOPIC = 'TBW102'
const ROUTE_POLL_MS = 200

/** Direct memory of newer Java versions, which the broker unmaps files with. */
const openedModules = [
  '--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED',
  '--add-exports=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/java.nio=ALL-UNNAMED',
  '--add-opens=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED',
]

export async function startApache(jars: string, request: ServerRequest): Promise<Server> {
  const { homeFolder } = request
  mkdirSync(homeFolder, { recursive: true })
  const nameserverPort = await freePort([])
  const brokerPort = await freePort([-2, 1])
  const nameserver = `127.0.0.1:${nameserverPort}`
  const nameserverConf = join(homeFolder, 'namesrv.conf')
  const brokerConf = join(homeFolder, 'broker.conf')
  writeFileSync(nameserverConf, `listenPort=${nameserverPort}\n`)
  writeFileSync(brokerConf, brokerSettings(request, nameserver, brokerPort))
  const started: ChildProcess[] = []
  const java = async (memory: readonly string[], main: string, conf: string): Promise<void> => {
    const args = [...memory, ...openedModules, `-Duser.home=${homeFolder}`]
    args.push('-cp', join(jars, '*'), `org.apache.rocketmq.${main}`, '-c', conf)
    const child = start({ program: 'java', args, env: { ROCKETMQ_HOME: homeFolder } })
    started.push(child)
    await bootSuccess(child, main, join(homeFolder, `${main}.out`))
  }
  try {
    await java(['-Xms64m', '-Xmx128m'], 'namesrv.NamesrvStartup', nameserverConf)
    const heap = ['-Xms1g', '-Xmx1g', '-XX:MaxDirectMemorySize=1g']
    await java(heap, 'broker.BrokerStartup', brokerConf)
    await untilRouted(nameserverPort)
  } catch (error) {
    await stopAll(started)
    throw error
  }
  return { name: 'Apache RocketMQ 5.5.0', nameserver, stop: () => stopAll(started) }
}

function brokerSettings(request: ServerRequest, nameserver: string, port: number): string {
  const { dataFolder, segmentBytes } = request
  const lines = [
    'brokerClusterName=DefaultCluster',
    'brokerName=broker-a',
    'brokerId=0',
    `namesrvAddr=${nameserver}`,
    'brokerIP1=127.0.0.1',
    `listenPort=${port}`,
    `storePathRootDir=${dataFolder}`,
    `storePathCommitLog=${join(dataFolder, 'commitlog')}`,
    `mappedFileSizeCommitLog=${segmentBytes}`,
    // With the default of 75 a full disk makes the broker delete files that are still needed.
    'diskMaxUsedSpaceRatio=95',
    'recallMessageEnable=true',
  ]
  return lines.map(line => `${line}\n`).join('')
}

/** Both programs say so on standard output when they are ready. */
function bootSuccess(child: ChildProcess, main: string, logFile: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const log = createWriteStream(logFile, { flags: 'a' })
    let output = ''
    const fail = (how: string) => reject(new Error(`${main} ${how}: ${output.slice(-1_000)}`))
    const timer = setTimeout(() => fail(`was not ready within ${READY_MS} ms`), READY_MS)
    child.once('exit', exitCode => {
      clearTimeout(timer)
      fail(`ended with ${exitCode} before it was ready`)
    })
    const onText = (text: string) => {
      log.write(text)
      output = (output + text).slice(-10_000)
      if (!output.includes('boot success')) return
      clearTimeout(timer)
      resolve()
    }
    child.stdout?.setEncoding('utf8').on('data', onText)
    child.stderr?.setEncoding('utf8').on('data', onText)
  })
}

/** A broker that says "boot success" may not be known to its name server yet. */
async function untilRouted(nameserverPort: number): Promise<void> {
  const untilMs = Date.now() + READY_MS
  while (!(await hasRoute('127.0.0.1', nameserverPort, DEFAULT_TOPIC))) {
    if (Date.now() > untilMs) throw new Error('the broker did not register with its name server')
    await sleep(ROUTE_POLL_MS)
  }
}

/** The broker before its name server. Java ends with 143 after SIGTERM, after its shutdown hooks. */
async function stopAll(started: readonly ChildProcess[]): Promise<void> {
  const codes: (number | null)[] = []
  for (const child of started.toReversed()) codes.push(await stop(child))
  if (codes.includes(null)) throw new Error('Apache RocketMQ had to be killed')
}

/** A free port whose neighbours at these distances are free, too. */
async function freePort(distances: readonly number[]): Promise<number> {
  for (;;) {
    const port = await tryPort(0)
    if (port === undefined || port < 1_024 || port > 65_000) continue
    const neighbours = await Promise.all(distances.map(distance => tryPort(port + distance)))
    if (!neighbours.includes(undefined)) return port
  }
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      const taken = typeof address === 'object' && address !== null ? address.port : undefined
      server.close(() => resolve(taken))
    })
  })
}
