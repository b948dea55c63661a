export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** The operator's log: one line an event, with facts as fields. Errors carry their cause. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, error?: unknown, fields?: LogFields): void
}
