import { isJsonObject, type JsonObject } from './json-file.ts'

/**
 * By what Apache's name servers tell whether a table has changed. A triple that was seen once
 * never comes back: each change takes the time of the change and the next number.
 */
export class DataVersion {
  #timestampMs: number
  #counter = 0
  #stateVersion = 0

  constructor(nowMs: number) {
    this.#timestampMs = nowMs
  }

  /** Goes on from what a file holds. */
  adopt(json: unknown, nowMs: number): void {
    if (!isJsonObject(json)) return
    this.#counter = wholeNumber(json['counter'])
    this.#stateVersion = wholeNumber(json['stateVersion'])
    this.#timestampMs = Math.max(nowMs, wholeNumber(json['timestamp']))
  }

  bump(nowMs: number): void {
    this.#counter++
    this.#timestampMs = nowMs
  }

  toJson(): JsonObject {
    return {
      counter: this.#counter,
      stateVersion: this.#stateVersion,
      timestamp: this.#timestampMs,
    }
  }
}

function wholeNumber(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
