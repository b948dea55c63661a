import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Never part of the repository, whatever lies in them. */
const OUTSIDE = new Set(['node_modules', 'dist', 'build', 'data', 'coverage', '.git', '.cache'])

/** Paths of all files below a folder, from the root of the repository, with `/`; sorted. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => !OUTSIDE.has(entry.name))
    .flatMap(entry => {
      const path = folder === '.' ? entry.name : join(folder, entry.name)
      if (entry.isDirectory()) return filesBelow(path)
      return entry.isFile() ? [path] : []
    })
    .toSorted()
}

export function readText(path: string): string {
  return readFileSync(path, 'utf8')
}
