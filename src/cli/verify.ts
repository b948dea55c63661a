import { type Command, InvalidArgumentError } from 'commander'
import { realPlatform } from '../core/platform/index.ts'
import {
  type Finding,
  type VerifyProgress,
  verifyStore,
  type VerifySummary,
} from '../engine/verify/index.ts'
import { exitCodes, type ExitCode } from './exit-code.ts'

interface Flags {
  readonly json?: boolean
  readonly segmentBytes?: number
}

const MIB = 1024 * 1024
/** Begins the line anew and forgets what stood there. */
const ERASE_LINE = '\r\u001B[K'

/** `orrery verify`: reads a stopped store and names what is damaged. */
export function addVerify(program: Command, setExitCode: (code: ExitCode) => void): void {
  program
    .command('verify <dir>')
    .description('check the data folder of a stopped broker; changes nothing')
    .option(
      '--segment-bytes <count>',
      'length of the log segments, if the files leave doubt',
      bytes,
    )
    .option('--json', 'print JSON objects, one a line')
    .action(async (directory: string, flags: Flags) => {
      setExitCode(await verify(directory, flags))
    })
}

async function verify(directory: string, flags: Flags): Promise<ExitCode> {
  const platform = realPlatform({ logLevel: 'warn' })
  const progress = new ProgressLine(process.stderr)
  const json = flags.json === true
  try {
    const summary = await verifyStore(
      {
        directory: withoutEndSlash(directory),
        segmentBytes: flags.segmentBytes,
        onFinding: finding => {
          progress.erase()
          console.log(findingText(finding, json))
        },
        onProgress: state => progress.show(state),
      },
      platform,
    )
    progress.erase()
    console.log(summaryText(summary, json))
    return summary.damageCount === 0 ? exitCodes.ok : exitCodes.failed
  } finally {
    progress.erase()
  }
}

function withoutEndSlash(directory: string): string {
  return directory.length > 1 ? directory.replace(/\/+$/, '') : directory
}

function bytes(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count > 0 && count % 4096 === 0) return count
  throw new InvalidArgumentError('must be a multiple of 4096')
}

/** One line for a finding: for people, or for scripts. */
export function findingText(finding: Finding, json: boolean): string {
  const { kind, file, fromPosition, toPosition, what } = finding
  if (json) return JSON.stringify({ finding: { kind, file, fromPosition, toPosition, what } })
  return `${kind}: ${file} bytes ${fromPosition} to ${toPosition}: ${what}`
}

/** The last line: what was looked at, and what was found. */
export function summaryText(summary: VerifySummary, json: boolean): string {
  if (json) return JSON.stringify({ summary })
  const { damageCount, noteCount, recordCount, queueCount, chunkCount, waitingCount } = summary
  const found = damageCount === 0 ? 'whole' : `damaged in ${counted(damageCount, 'place')}`
  const notes = noteCount === 0 ? '' : `, ${counted(noteCount, 'note')}`
  const { uncheckedFolders: unchecked } = summary
  const databases = unchecked.length === 0 ? '' : `; not checked: ${unchecked.join(', ')}`
  const stop = summary.isClean ? '' : '; the last broker did not stop cleanly'
  return (
    `${found}${notes}: ${counted(recordCount, 'record')}, ${counted(queueCount, 'queue')}, ` +
    `${counted(summary.indexFileCount, 'index file')}, ` +
    `${counted(chunkCount, 'chunk')} with ${counted(waitingCount, 'message')}${databases}${stop}`
  )
}

function counted(count: number, name: string): string {
  return `${count.toLocaleString('en-US')} ${name}${count === 1 ? '' : 's'}`
}

/** How far the check has come, on a terminal only. */
class ProgressLine {
  readonly #stream: NodeJS.WriteStream
  #shown = ''

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  show({ doneBytes, totalBytes }: VerifyProgress): void {
    if (!this.#stream.isTTY) return
    const percent = totalBytes === 0 ? 100 : Math.floor((100 * doneBytes) / totalBytes)
    const total = Math.ceil(totalBytes / MIB).toLocaleString('en-US')
    const text = `${percent} % of ${total} MiB`
    if (text === this.#shown) return
    this.#shown = text
    this.#stream.write(`${ERASE_LINE}${text}`)
  }

  erase(): void {
    if (this.#shown === '') return
    this.#shown = ''
    this.#stream.write(ERASE_LINE)
  }
}
