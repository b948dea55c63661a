import { BrokerError, crc32, readInt64Loose } from '../../core/base/index.ts'
import { type Files, readWholeFile } from '../../core/platform/index.ts'
import { parseDialect } from '../../model/wire/index.ts'
import { type CleanStop, delayOffsetPath } from '../store/index.ts'
import type { Findings } from './findings.ts'

const NAMES = ['topics.json', 'subscriptionGroup.json', 'consumerOffset.json'] as const
/** As the broker reads them. */
const VALUES_MAX = 100_000_000
const CHECKPOINT_BYTES = 4096
const CHECKPOINT_FIELDS_BYTES = 40

/** The files of settings: they must be JSON objects. See docs/formats/config-files.md. */
export async function checkSettings(
  files: Files,
  directory: string,
  findings: Findings,
): Promise<void> {
  for (const name of NAMES) {
    const path = `${directory}/config/${name}`
    const bytes = await readWholeFile(files, path)
    if (bytes === undefined || isObject(bytes)) continue
    const range = [0, Math.max(1, bytes.length)] as const
    findings.damage(path, range, 'the file of settings is no JSON object')
  }
}

/**
 * What a clean stop leaves for Apache: `config/delayOffset.json`, of which the manifest has the
 * checksum, and `checkpoint`. See docs/formats/delay-offset.md and checkpoint-and-abort.md.
 */
export async function checkExports(
  files: Files,
  directory: string,
  parts: { readonly cleanStop: CleanStop; readonly findings: Findings },
): Promise<void> {
  const { cleanStop, findings } = parts
  const path = delayOffsetPath(directory)
  const offsets = await readWholeFile(files, path)
  const crc = offsets === undefined ? 0 : crc32(offsets, 0, offsets.length)
  if (crc !== cleanStop.exportsCrc) {
    const what = 'not as the last clean stop left it: damage, or the work of another broker'
    findings.damage(path, [0, Math.max(1, offsets?.length ?? 1)], what)
  }
  const checkpoint = `${directory}/checkpoint`
  const bytes = await readWholeFile(files, checkpoint)
  if (bytes === undefined || !isCheckpointOf(bytes, cleanStop.endOffset)) {
    const what = 'not as the last clean stop left it; this broker does not read it'
    findings.note(checkpoint, [0, Math.max(CHECKPOINT_BYTES, bytes?.length ?? 0)], what)
  }
}

function isCheckpointOf(bytes: Buffer, endOffset: number): boolean {
  if (bytes.length !== CHECKPOINT_BYTES) return false
  const timeMs = readInt64Loose(bytes, 0)
  if (readInt64Loose(bytes, 8) !== timeMs || readInt64Loose(bytes, 16) !== timeMs) return false
  if (readInt64Loose(bytes, 24) !== endOffset || readInt64Loose(bytes, 32) !== endOffset) {
    return false
  }
  return bytes.subarray(CHECKPOINT_FIELDS_BYTES).every(byte => byte === 0)
}

function isObject(bytes: Buffer): boolean {
  try {
    const value = parseDialect(bytes.toString('utf8'), { valuesMax: VALUES_MAX })
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch (error) {
    if (error instanceof BrokerError) return false
    throw error
  }
}
