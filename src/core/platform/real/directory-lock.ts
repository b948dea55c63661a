import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import type { DirectoryLock } from '../files.ts'

/**
 * Holds the one lock of a directory by listening on a local socket named after `identity`.
 *
 * On Linux the name is abstract: no file, and the kernel frees it however the process ends. It
 * is seen within one network namespace only. Elsewhere the socket is a file that may be left
 * over: one that nobody answers on is replaced. Rejects with `EADDRINUSE` when the lock is held.
 */
export async function lockDirectory(identity: string): Promise<DirectoryLock> {
  if (process.platform === 'linux') return hold(abstractName(identity))
  const name = path.join(os.tmpdir(), `orrery-lock-${identity}.sock`)
  try {
    return await hold(name)
  } catch (error) {
    if (await isAnswered(name)) throw error
    await new Promise<void>(resolve => {
      fs.unlink(name, () => {
        resolve()
      })
    })
    return hold(name)
  }
}

/** Room for a socket's name in the system's structure. */
const SOCKET_NAME_BYTES = 108

/** Filled to the full room: some versions of Node pad a shorter name with zeros, some do not. */
function abstractName(identity: string): string {
  return `\0orrery-lock-${identity}`.padEnd(SOCKET_NAME_BYTES, '.')
}

function hold(name: string): Promise<DirectoryLock> {
  return new Promise((resolve, reject) => {
    const server = net.createServer(socket => {
      socket.destroy()
    })
    server.on('error', reject)
    server.listen({ path: name }, () => {
      // The lock lasts as long as the process and must not be what keeps it alive.
      server.unref()
      resolve({ release: () => closed(server) })
    })
  })
}

function closed(server: net.Server): Promise<void> {
  return new Promise(resolve => {
    // Closing a second time reports an error, and the lock is free all the same.
    server.close(() => {
      resolve()
    })
  })
}

function isAnswered(name: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = net.connect({ path: name })
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => {
      resolve(false)
    })
  })
}
