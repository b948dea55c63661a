/** Starts Orrery as its users do: the built command, on ports that happen to be free. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ChildProcess } from 'node:child_process'
import { start, stop } from './command.ts'
import type { Server, ServerRequest } from './server.ts'

const READY_MS = 20_000
const STOP_MS_MAX = 5_000

export async function startOrrery(root: string, request: ServerRequest): Promise<Server> {
  mkdirSync(request.homeFolder, { recursive: true })
  const main = join(root, 'dist/cli/main.js')
  const ports = ['--nameserver-port', '0', '--remoting-port', '0']
  const segment = ['--log-segment-bytes', String(request.segmentBytes)]
  const child = start({
    program: process.execPath,
    args: [main, 'serve', '--data', request.dataFolder, ...ports, ...segment, '--json'],
  })
  const log = createWriteStream(join(request.homeFolder, 'orrery.out'), { flags: 'a' })
  child.stderr?.pipe(log)
  try {
    const nameserver = await readyAddress(child, log)
    return { name: 'Orrery', nameserver, stop: () => stopOrrery(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

/** Waits for the ready line: a JSON object with the addresses. */
function readyAddress(child: ChildProcess, log: NodeJS.WritableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => {
      reject(new Error(`Orrery was not ready within ${READY_MS} ms: ${output}`))
    }, READY_MS)
    const onEnd = (exitCode: number | null) => {
      clearTimeout(timer)
      reject(new Error(`Orrery ended with ${exitCode} before it was ready: ${output}`))
    }
    child.once('exit', onEnd)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      log.write(text)
      if (output.includes('"nameserver"')) return
      output += text
      const nameserver = findNameserver(output)
      if (nameserver === undefined) return
      clearTimeout(timer)
      child.off('exit', onEnd)
      resolve(nameserver)
    })
  })
}

function findNameserver(output: string): string | undefined {
  const line = output.split('\n').find(text => text.startsWith('{') && text.endsWith('}'))
  if (line === undefined) return undefined
  const ready: unknown = JSON.parse(line)
  if (typeof ready !== 'object' || ready === null || !('nameserver' in ready)) return undefined
  return String(ready.nameserver)
}

async function stopOrrery(child: ChildProcess): Promise<void> {
  const startedMs = Date.now()
  const exitCode = await stop(child)
  const tookMs = Date.now() - startedMs
  if (exitCode !== 0) throw new Error(`Orrery stopped with exit code ${exitCode}`)
  if (tookMs > STOP_MS_MAX) throw new Error(`Orrery took ${tookMs} ms to stop`)
}
