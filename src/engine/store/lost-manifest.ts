import { BrokerError } from '../../core/base/index.ts'
import type { Files, Log } from '../../core/platform/index.ts'
import { TIMER_TOPIC } from '../../model/message/index.ts'
import { MANIFEST_HINT } from './manifest.ts'

/**
 * For a folder without a manifest that can be read: it may be new, or another broker's. Where
 * something shows that it was ours the start is refused: nobody knows any more which messages
 * wait, and those that are older than the log are in the timers' files only.
 *
 * The first manifest is durable before the first message that waits is taken in, so a crash
 * before it leaves nothing of the kind.
 *
 * @throws BrokerError `STORE_DAMAGED`
 */
export async function checkNeverOurs(files: Files, directory: string, log: Log): Promise<void> {
  const found =
    (await firstNotEmpty(files, await chunkPaths(files, `${directory}/orrery`))) ??
    (await firstNotEmpty(files, await queuePaths(files, directory)))
  if (found !== undefined) {
    throw new BrokerError('STORE_DAMAGED', {
      file: `${directory}/orrery/manifest-a and -b`,
      reason: `missing or not whole, and ${found} holds messages that wait`,
      hint: MANIFEST_HINT,
    })
  }
  if ((await files.list(`${directory}/commitlog`)).length === 0) return
  log.warn("there is a commit log and no manifest; the folder is taken for another broker's", {
    file: `${directory}/orrery/manifest-a and -b`,
  })
}

/** All chunks of the ladder and of what is parked. */
async function chunkPaths(files: Files, directory: string): Promise<readonly string[]> {
  const ladder = `${directory}/ladder`
  const paths = await pathsIn(files, `${directory}/parked`)
  for (const rung of await pathsIn(files, ladder)) {
    const isFile = (await files.sizeOf(rung)) !== undefined
    paths.push(...(isFile ? [] : await pathsIn(files, rung)))
  }
  return paths
}

/** The index of what was accepted for a deliver time; no other broker makes one. */
async function queuePaths(files: Files, directory: string): Promise<readonly string[]> {
  const paths: string[] = []
  for (const queue of await pathsIn(files, `${directory}/consumequeue/${TIMER_TOPIC}`)) {
    paths.push(...(await pathsIn(files, queue)))
  }
  return paths
}

async function pathsIn(files: Files, directory: string): Promise<string[]> {
  const names = await files.list(directory)
  return names.map(name => `${directory}/${name}`)
}

async function firstNotEmpty(files: Files, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (((await files.sizeOf(path)) ?? 0) > 0) return path
  return undefined
}
