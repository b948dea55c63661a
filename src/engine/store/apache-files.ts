import { crc32, writeInt64 } from '../../core/base/index.ts'
import { type Files, readWholeFile, replaceFile } from '../../core/platform/index.ts'

/**
 * Files at the top of the folder that Apache RocketMQ expects: `abort` exists while a broker runs,
 * `checkpoint` holds times up to which it need not look when it recovers.
 */
const CHECKPOINT_BYTES = 4096

export function delayOffsetPath(directory: string): string {
  return `${directory}/config/delayOffset.json`
}

/** CRC-32 of `config/delayOffset.json`; 0 when it is missing. Tells whether another broker wrote it. */
export async function exportsCrc(files: Files, directory: string): Promise<number> {
  const bytes = await readWholeFile(files, delayOffsetPath(directory))
  return bytes === undefined ? 0 : crc32(bytes, 0, bytes.length)
}

/** Whether the last broker that had this folder did not stop cleanly. */
export async function hasAbortFile(files: Files, directory: string): Promise<boolean> {
  return (await files.sizeOf(`${directory}/abort`)) !== undefined
}

export async function writeAbortFile(files: Files, directory: string): Promise<void> {
  await replaceFile(files, `${directory}/abort`, Buffer.from('orrery\n'))
}

/** The last step of a clean stop. */
export async function removeAbortFile(files: Files, directory: string): Promise<void> {
  await files.remove(`${directory}/abort`)
  await files.syncDirectory(directory)
}

/** Apache's `checkpoint`: three times and two log offsets, big-endian int64, the rest zeros. */
export async function writeApacheCheckpoint(
  files: Files,
  directory: string,
  state: { storeTimeMs: number; endOffset: number },
): Promise<void> {
  const bytes = Buffer.alloc(CHECKPOINT_BYTES)
  writeInt64(bytes, state.storeTimeMs, 0)
  writeInt64(bytes, state.storeTimeMs, 8)
  writeInt64(bytes, state.storeTimeMs, 16)
  writeInt64(bytes, state.endOffset, 24)
  writeInt64(bytes, state.endOffset, 32)
  await replaceFile(files, `${directory}/checkpoint`, bytes)
}
