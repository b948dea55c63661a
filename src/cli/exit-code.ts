import { BrokerError } from '../core/base/index.ts'

/** What scripts can rely on; see docs/operations/command-line.md. */
export const exitCodes = {
  ok: 0,
  /** The work was begun and failed. */
  failed: 1,
  /** The command line, a file or a variable is wrong; nothing was begun. */
  usage: 2,
  /** The broker cannot start, or the server cannot be reached; the same line may work later. */
  unavailable: 3,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof BrokerError)) return exitCodes.failed
  switch (error.code) {
    case 'COMMAND_LINE_INVALID':
    case 'OPTION_INVALID':
    case 'PARAMETER_INVALID':
    case 'DELAY_INVALID':
    case 'DELAY_NEGATIVE':
    case 'DELIVER_TIME_INVALID':
    case 'DELIVER_TIME_IN_SECONDS':
    case 'DURATION_INVALID':
    case 'TOPIC_NAME_INVALID':
    case 'GROUP_NAME_INVALID':
    case 'SUBSCRIPTION_INVALID':
    case 'MESSAGE_ID_INVALID':
    case 'MESSAGE_INVALID':
    case 'STORE_MISSING':
    case 'NOT_A_NAME_SERVER':
    case 'LISTEN_FAILED':
    case 'STORE_NOT_ACCESSIBLE':
      return exitCodes.usage
    case 'ADDRESS_IN_USE':
    case 'STORE_LOCKED':
    case 'CONNECT_FAILED':
      return exitCodes.unavailable
    default:
      return exitCodes.failed
  }
}
