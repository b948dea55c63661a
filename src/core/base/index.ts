/** What every module may use: assertions, the table of errors, numbers on disk. No I/O, no domain. */
export { assert, InvariantError } from './assert.ts'
export { crc32 } from './crc32.ts'
export {
  BrokerError,
  errorOfRemark,
  errorSpecs,
  type ErrorCode,
  type ErrorDetails,
  operatingError,
} from './errors.ts'
export { digest16 } from './digest.ts'
export { Gate } from './gate.ts'
export { readInt32, readInt64Loose, writeInt32, writeInt64 } from './big-endian.ts'
