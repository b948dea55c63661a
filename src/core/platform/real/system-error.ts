import { BrokerError, type ErrorCode } from '../../base/index.ts'

/** A failed call on the disk as a `BrokerError`: no space left, or any other failure. */
export function fileError(error: NodeJS.ErrnoException, path: string): BrokerError {
  const full = error.code === 'ENOSPC' || error.code === 'EDQUOT'
  const code: ErrorCode = full ? 'STORE_FULL' : 'STORE_FAILED'
  return new BrokerError(code, { path, reason: reasonOf(error) }, error)
}

/** The system's word: its code, such as `EIO`, or else its message. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message
}

/** True for the codes that say that nothing of this name exists. */
export function isMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR'
}
