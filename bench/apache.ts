import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { RunningChild } from '../test/support/child-process.ts'
import { UsageError } from './benchmark.ts'
import type { Broker } from './broker.ts'

export const APACHE_VERSION = '5.5.0'
const LIBRARY = `.cache/apache-rocketmq-${APACHE_VERSION}/lib`
const READY_LIMIT_MS = 240_000

/** What was set apart from the defaults, for the record. */
export const APACHE_SETTINGS = 'flushDiskType=SYNC_FLUSH, heap 2 GB, else defaults'

// Java 17 hides what the broker uses to unmap files.
const JAVA_FLAGS = [
  '--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED',
  '--add-opens=java.base/java.nio=ALL-UNNAMED',
  '--add-exports=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED',
]

/** Gets the jars from Maven Central unless they are here already. */
export async function fetchApache(): Promise<void> {
  if (existsSync(LIBRARY) && readdirSync(LIBRARY).length > 0) return
  const directory = resolve(LIBRARY, '..')
  mkdirSync(directory, { recursive: true })
  const dependencies = ['namesrv', 'broker'].map(
    name =>
      `<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-${name}</artifactId>` +
      `<version>${APACHE_VERSION}</version></dependency>`,
  )
  writeFileSync(
    resolve(directory, 'pom.xml'),
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
      '<groupId>bench</groupId><artifactId>apache</artifactId><version>1</version>' +
      `<dependencies>${dependencies.join('')}</dependencies></project>\n`,
  )
  const args = ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib']
  try {
    await promisify(execFile)('mvn', args, { cwd: directory })
  } catch (error) {
    throw new UsageError(
      'Apache RocketMQ could not be fetched: Maven and Java 17 are needed (or pass --skip-apache)',
      { cause: error },
    )
  }
}

/** Name server and broker of Apache RocketMQ on a fresh folder. */
export async function startApache(directory: string): Promise<Broker> {
  await fetchApache()
  const home = resolve(directory)
  mkdirSync(resolve(home, 'conf'), { recursive: true })
  const [nameserverPort, brokerPort] = [await freePort(), await freeBrokerPort()]
  writeConfiguration(home, nameserverPort, brokerPort)
  const nameserver = startJava(home, {
    heap: '128m',
    main: 'org.apache.rocketmq.namesrv.NamesrvStartup',
    name: 'namesrv',
  })
  try {
    await waitFor(nameserver, 'boot success')
    const broker = startJava(home, {
      heap: '2g',
      main: 'org.apache.rocketmq.broker.BrokerStartup',
      name: 'broker',
    })
    try {
      await waitFor(broker, 'boot success')
    } catch (error) {
      await broker.kill()
      throw error
    }
    return {
      name: 'apache',
      address: `127.0.0.1:${brokerPort}`,
      pid: broker.pid,
      // Its folder is thrown away; a clean stop would only take time.
      stop: async () => {
        await broker.kill()
        await nameserver.kill()
      },
    }
  } catch (error) {
    await nameserver.kill()
    throw error
  }
}

function writeConfiguration(home: string, nameserverPort: number, brokerPort: number): void {
  writeFileSync(resolve(home, 'conf/namesrv.conf'), `listenPort=${nameserverPort}\n`)
  const settings = [
    'brokerClusterName=DefaultCluster',
    'brokerName=broker-a',
    'brokerId=0',
    `namesrvAddr=127.0.0.1:${nameserverPort}`,
    'brokerIP1=127.0.0.1',
    `listenPort=${brokerPort}`,
    `storePathRootDir=${home}/store`,
    `storePathCommitLog=${home}/store/commitlog`,
    'flushDiskType=SYNC_FLUSH',
    // A disk that others fill must not make it delete files or refuse messages.
    'diskMaxUsedSpaceRatio=95',
  ]
  writeFileSync(resolve(home, 'conf/broker.conf'), `${settings.join('\n')}\n`)
}

function startJava(
  home: string,
  program: { readonly heap: string; readonly main: string; readonly name: string },
): RunningChild {
  return new RunningChild({
    command: 'java',
    args: [
      `-Xms${program.heap}`,
      `-Xmx${program.heap}`,
      ...JAVA_FLAGS,
      // Logs and client offsets stay in the folder.
      `-Duser.home=${home}`,
      '-cp',
      `${resolve(LIBRARY)}/*`,
      program.main,
      '-c',
      `${home}/conf/${program.name}.conf`,
    ],
    logFile: `${home}/${program.name}.out`,
    environment: { ROCKETMQ_HOME: home },
  })
}

async function waitFor(child: RunningChild, text: string): Promise<void> {
  while (!child.logTail(200).includes(text)) {
    if (child.exit !== undefined) throw new Error(`Apache ended at start\n${child.logTail()}`)
    if (Date.now() - child.startedAtMs > READY_LIMIT_MS) {
      throw new Error(`Apache was not ready after ${READY_LIMIT_MS} ms\n${child.logTail()}`)
    }
    await sleep(200)
  }
}

/** The broker also takes the port two below and the one above. */
async function freeBrokerPort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = await freePort()
    if ((await isFree(port - 2)) && (await isFree(port + 1))) return port
  }
  throw new Error('no free ports for the broker')
}

function freePort(): Promise<number> {
  return new Promise((fulfil, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (typeof address === 'object' && address !== null) fulfil(address.port)
        else reject(new Error('the system gave no port'))
      })
    })
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise(fulfil => {
    const server = createServer()
    server.once('error', () => fulfil(false))
    server.listen(port, () => server.close(() => fulfil(true)))
  })
}
