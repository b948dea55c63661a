/** One line for each test, and a last one that counts them. */
import type { Verdict } from './judge.ts'

/** Problems of one kind come in hundreds; the first ones tell the story. */
const PROBLEMS_SHOWN_MAX = 4

export class Report {
  readonly #isSkipFailure: boolean
  #passedCount = 0
  #failedCount = 0
  #skippedCount = 0

  /** In CI a test that was left out is one that failed. */
  constructor(isSkipFailure: boolean) {
    this.#isSkipFailure = isSkipFailure
  }

  get failedCount(): number {
    return this.#failedCount
  }

  verdict(name: string, verdict: Verdict): void {
    const { count, problems, latestMs } = verdict
    if (count === 0) this.fail(name, ['no message was judged'])
    else if (problems.length > 0) this.fail(name, problems)
    else this.pass(`${name} (${count} messages, at most ${latestMs} ms late)`)
  }

  pass(text: string): void {
    this.#passedCount += 1
    this.#line('ok  ', text)
  }

  fail(name: string, problems: readonly string[]): void {
    this.#failedCount += 1
    const shown = problems.slice(0, PROBLEMS_SHOWN_MAX).join('; ')
    const hiddenCount = problems.length - PROBLEMS_SHOWN_MAX
    this.#line('FAIL', `${name}: ${shown}${hiddenCount > 0 ? `; and ${hiddenCount} more` : ''}`)
  }

  skip(name: string, reason: string): void {
    if (this.#isSkipFailure) {
      this.fail(name, [`skipped, which CI does not allow: ${reason}`])
      return
    }
    this.#skippedCount += 1
    this.#line('skip', `${name}: ${reason}`)
  }

  note(text: string): void {
    this.#line('    ', text)
  }

  /** Writes the last line. Returns true when all is well; nothing passed is not well. */
  finish(): boolean {
    if (this.#skippedCount > 0) this.note(`${this.#skippedCount} skipped`)
    process.stdout.write(`${this.#passedCount} passed, ${this.#failedCount} failed\n`)
    return this.#failedCount === 0 && this.#passedCount > 0
  }

  #line(mark: string, text: string): void {
    process.stdout.write(`${mark} ${text.replaceAll(/\s+/g, ' ')}\n`)
  }
}
