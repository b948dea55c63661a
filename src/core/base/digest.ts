import { hash } from 'node:crypto'

const DIGEST_BYTES = 16

/**
 * The first 16 bytes of the text's SHA-256, one in each character: no two texts that anybody can
 * come up with share them.
 */
export function digest16(text: string): string {
  // As a string it takes a third of the time that a buffer takes.
  return hash('sha256', text, 'binary').slice(0, DIGEST_BYTES)
}
