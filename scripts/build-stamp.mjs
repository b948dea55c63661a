import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const STAMP_FILE = 'dist/build-stamp'

/**
 * A hash over all that decides what the build makes: an older checkout has older times, so times
 * tell nothing.
 *
 * @returns {string}
 */
export function sourceStamp() {
  const sources = readdirSync('src', { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .toSorted()
  const hash = createHash('sha256')
  for (const path of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', ...sources]) {
    hash.update(`${path}\0`).update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex')
}
