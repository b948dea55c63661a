/** Asks a name server for a topic's route, in the fewest bytes of RocketMQ's protocol. */
import { connect } from 'node:net'

const GET_ROUTEINFO_BY_TOPIC = 105
const ANSWER_MS = 3_000
/** Total length, then the header's; both are 4 bytes, and the first one does not count itself. */
const LENGTHS_BYTES = 8

/** False when the topic is not known there, or nobody answers. */
export function hasRoute(host: string, port: number, topic: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, timeout: ANSWER_MS })
    const finish = (isKnown: boolean) => {
      socket.destroy()
      resolve(isKnown)
    }
    let answer = Buffer.alloc(0)
    socket.once('connect', () => socket.write(routeRequest(topic)))
    socket.once('error', () => finish(false))
    socket.once('timeout', () => finish(false))
    socket.once('close', () => finish(false))
    socket.on('data', bytes => {
      answer = Buffer.concat([answer, bytes])
      if (answer.length < LENGTHS_BYTES) return
      // The first byte says how the header is written; 0 is JSON.
      const headerEnd = LENGTHS_BYTES + answer.readUIntBE(5, 3)
      if (answer.length < headerEnd) return
      finish(/"code":0\b/.test(answer.toString('utf8', LENGTHS_BYTES, headerEnd)))
    })
  })
}

function routeRequest(topic: string): Buffer {
  const header = Buffer.from(
    JSON.stringify({
      code: GET_ROUTEINFO_BY_TOPIC,
      extFields: { topic },
      flag: 0,
      language: 'JAVA',
      opaque: 1,
      version: 0,
    }),
  )
  const lengths = Buffer.alloc(LENGTHS_BYTES)
  lengths.writeUInt32BE(4 + header.length, 0)
  lengths.writeUInt32BE(header.length, 4)
  return Buffer.concat([lengths, header])
}
