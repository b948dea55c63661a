import type { Files } from './files.ts'

/**
 * Replaces a small file durably: a temporary file, sync, rename, sync of the directory. After a
 * crash the old or the new content is there, whole.
 */
export async function replaceFile(files: Files, path: string, content: Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await files.open(temporary, 'write')
  try {
    await file.truncate(0)
    await file.write([content], 0)
    await file.datasync()
  } finally {
    await file.close()
  }
  await files.rename(temporary, path)
  await files.syncDirectory(path.slice(0, path.lastIndexOf('/')))
}

/** The whole content, or `undefined` when there is no such file. */
export async function readWholeFile(files: Files, path: string): Promise<Buffer | undefined> {
  const sizeBytes = await files.sizeOf(path)
  if (sizeBytes === undefined) return undefined
  const file = await files.open(path, 'read')
  try {
    const content = Buffer.alloc(sizeBytes)
    const count = await file.read(content, 0)
    return content.subarray(0, count)
  } finally {
    await file.close()
  }
}
