import { once } from 'node:events'
import net from 'node:net'
import { expect, test } from 'vitest'
import { type QuietSocket, SocketReads } from './socket-reads.ts'

async function answerOf(
  greeting: string,
  prepare: (accepted: net.Socket) => void,
): Promise<string> {
  const reads = new SocketReads()
  const server = net.createServer({ pauseOnConnect: true }, accepted => {
    prepare(accepted)
    const quiet = reads.adopt(accepted)
    quiet.startReading(bytes => quiet.socket.write(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const client = reads.connect({ host: '127.0.0.1', port })
  client.socket.write(greeting)
  const answer = await heard(client, greeting.length)
  client.socket.destroy()
  server.close()
  await once(server, 'close')
  return answer
}

function heard(quiet: QuietSocket, length: number): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    quiet.startReading(bytes => {
      text += bytes.toString()
      if (text.length >= length) resolve(text)
    })
  })
}

test('what arrives is handed over, and the server sees its connections end', async () => {
  const greeting = 'orrery'.repeat(50_000)
  expect(await answerOf(greeting, () => undefined)).toBe(greeting)
})

test('a socket that is not as expected inside is read in the usual way', async () => {
  expect(await answerOf('hello', hideFromReads)).toBe('hello')
})

function hideFromReads(accepted: net.Socket): void {
  const handle: unknown = Reflect.get(accepted, '_handle')
  if (typeof handle !== 'object' || handle === null) throw new Error('no handle to change')
  Object.defineProperty(handle, 'useUserBuffer', { value: undefined })
}
