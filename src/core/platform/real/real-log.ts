import { pino } from 'pino'
import { BrokerError } from '../../base/index.ts'
import type { Log, LogFields } from '../log.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Somewhere that takes finished lines at once, so that the last one before an exit is kept. */
export interface LogTarget {
  write(line: string): void
}

/** JSON lines on standard error. */
export class RealLog implements Log {
  readonly #pino: pino.Logger

  constructor(level: LogLevel, target: LogTarget = standardError()) {
    this.#pino = pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: label => ({ level: label }) },
        messageKey: 'message',
      },
      target,
    )
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, message)
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(fields, message)
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, message)
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    if (error === undefined) this.#pino.error(fields, message)
    else this.#pino.error({ ...fields, error: describe(error, CAUSE_DEPTH_MAX) }, message)
  }
}

/** Lines that cannot be written now are kept up to this size, then dropped. */
const KEPT_BYTES_MAX = 1024 * 1024

function standardError(): LogTarget {
  const target = pino.destination({ dest: 2, sync: true, maxLength: KEPT_BYTES_MAX })
  // Standard error may be a file on a full disk or a closed pipe, and neither must stop a broker.
  target.on('error', () => undefined)
  return target
}

interface ErrorFacts {
  readonly code?: string | number
  readonly message: string
  readonly details?: Readonly<Record<string, string | number>>
  readonly stack?: string
  readonly cause?: ErrorFacts
}

/** Causes may form a ring. */
const CAUSE_DEPTH_MAX = 5

function describe(error: unknown, depth: number): ErrorFacts {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error ? error.code : undefined
  return {
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message: error.message,
    ...(error instanceof BrokerError ? { details: error.details } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(error.cause === undefined || depth === 0
      ? {}
      : { cause: describe(error.cause, depth - 1) }),
  }
}
