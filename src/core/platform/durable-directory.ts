import type { Files } from './files.ts'

/**
 * Makes the directory and those above it, and their names durable. A process that was killed may
 * have left names that are not, so those that exist are synced too, as far as they let us.
 */
export async function makeDurableDirectory(files: Files, path: string): Promise<void> {
  const missing = new Set<string>()
  for (const at of ancestorsOf(path)) {
    if (!(await exists(files, at))) missing.add(at)
  }
  await files.makeDirectory(path)
  for (const at of ancestorsOf(path)) {
    const syncing = files.syncDirectory(directoryOf(at))
    // A directory of somebody else's may be closed to us: its names are not of our making.
    await (missing.has(at) ? syncing : syncing.catch(() => undefined))
  }
}

/** The path itself last, the one below the root first. */
function ancestorsOf(path: string): readonly string[] {
  const ancestors: string[] = []
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) {
    ancestors.push(path.slice(0, end))
  }
  return [...ancestors, path].filter(at => !/(^|\/)\.{0,2}$/.test(at))
}

function directoryOf(path: string): string {
  const end = path.lastIndexOf('/')
  if (end < 0) return '.'
  return end === 0 ? '/' : path.slice(0, end)
}

async function exists(files: Files, path: string): Promise<boolean> {
  try {
    const names = await files.list(directoryOf(path))
    return names.includes(path.slice(path.lastIndexOf('/') + 1))
  } catch {
    // What we may not list we have not made.
    return true
  }
}
