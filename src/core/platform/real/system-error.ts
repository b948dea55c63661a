import { BrokerError, type ErrorCode } from '../../base/index.ts'

/** What the disk is not to blame for: a path or its rights that a person has to correct. */
const REFUSALS: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EEXIST',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOTDIR',
  'EPERM',
  'EROFS',
])

/**
 * A failed call on the disk as a `BrokerError`: no space left, a path that is refused, or any
 * other failure.
 */
export function fileError(error: NodeJS.ErrnoException, path: string): BrokerError {
  return new BrokerError(codeOf(error.code), { path, reason: reasonOf(error) }, error)
}

/** As `fileError`, for making a directory: that its parent cannot be made is a refusal too. */
export function directoryError(error: NodeJS.ErrnoException, path: string): BrokerError {
  const code = error.code === 'ENOENT' ? 'STORE_NOT_ACCESSIBLE' : codeOf(error.code)
  return new BrokerError(code, { path, reason: reasonOf(error) }, error)
}

function codeOf(systemCode: string | undefined): ErrorCode {
  if (systemCode === 'ENOSPC' || systemCode === 'EDQUOT') return 'STORE_FULL'
  return REFUSALS.has(systemCode) ? 'STORE_NOT_ACCESSIBLE' : 'STORE_FAILED'
}

/** The system's word: its code, such as `EIO`, or else its message. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message
}

/** True for the codes that say that nothing of this name exists. */
export function isMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR'
}
