import net from 'node:net'

/** Fewer bytes mean more calls of the system, more bytes fall out of the processor's cache. */
const READ_BYTES = 65_536
/** Windows fills the buffer of a read while others are under way. */
const CAN_SHARE = process.platform !== 'win32'

/** A socket that reads nothing until `startReading`. */
export interface QuietSocket {
  readonly socket: net.Socket
  /** Called once. The bytes are valid during the call only. */
  startReading(onBytes: (bytes: Buffer) => void): void
}

/** Node does not document these parts of `net.Socket`; its own server uses them. */
const HANDLE = '_handle'
interface AdoptOptions extends net.SocketConstructorOpts {
  readonly handle: unknown
  readonly pauseOnCreate: boolean
  readonly onread: net.OnReadOpts
}

/**
 * Lets all sockets read into one buffer, one after the other. Node would make a new buffer of
 * 64 KB for each read, and memory of that kind makes the collector run all the time.
 */
export class SocketReads {
  readonly #buffer: Buffer = Buffer.allocUnsafeSlow(READ_BYTES)

  connect(options: net.TcpNetConnectOpts): QuietSocket {
    if (!CAN_SHARE) return plain(net.connect(options).pause())
    const inbox = new Inbox()
    const socket = net.connect({ ...options, onread: this.#into(inbox) })
    return inbox.quiet(socket.pause())
  }

  /**
   * Takes over a socket that a server with `pauseOnConnect` has accepted. Only a new socket can be
   * told where to read to: it gets the handle, and the accepted one ends without it.
   */
  adopt(accepted: net.Socket): QuietSocket {
    const handle: unknown = Reflect.get(accepted, HANDLE)
    if (!CAN_SHARE || !canReadInto(handle)) return plain(accepted)
    const inbox = new Inbox()
    const options: AdoptOptions = { handle, pauseOnCreate: true, onread: this.#into(inbox) }
    const socket = new net.Socket(options)
    Reflect.set(accepted, HANDLE, null)
    accepted.destroy()
    return inbox.quiet(socket)
  }

  #into(inbox: Inbox): net.OnReadOpts {
    const buffer = this.#buffer
    return {
      buffer,
      callback: sizeBytes => {
        inbox.onBytes?.(buffer.subarray(0, sizeBytes))
        return true
      },
    }
  }
}

function canReadInto(handle: unknown): boolean {
  if (typeof handle !== 'object' || handle === null) return false
  return 'useUserBuffer' in handle && typeof handle.useUserBuffer === 'function'
}

class Inbox {
  onBytes: ((bytes: Buffer) => void) | undefined

  quiet(socket: net.Socket): QuietSocket {
    const startReading = (onBytes: (bytes: Buffer) => void): void => {
      this.onBytes = onBytes
      socket.resume()
    }
    return { socket, startReading }
  }
}

function plain(socket: net.Socket): QuietSocket {
  const startReading = (onBytes: (bytes: Buffer) => void): void => {
    socket.on('data', onBytes)
    socket.resume()
  }
  return { socket, startReading }
}
