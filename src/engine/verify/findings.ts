/**
 * `damage`: what the file should hold is not there. `note`: worth knowing, and no reader will ever
 * miss it: bytes behind an end, or a write that an unclean stop cut off.
 */
export type FindingKind = 'damage' | 'note'

/** A range of bytes of one file, from `fromPosition` up to and without `toPosition`. */
export interface Finding {
  readonly kind: FindingKind
  readonly file: string
  readonly fromPosition: number
  readonly toPosition: number
  /** What is wrong there, in words. */
  readonly what: string
}

/** So many files may have a finding that is still growing; beyond it the oldest is told as it is. */
const OPEN_MAX = 1024

/** Hands findings on, one for ranges that touch and say the same. */
export class Findings {
  damageCount = 0
  noteCount = 0
  readonly #tell: (finding: Finding) => void
  /** The latest of each file, which may grow. */
  readonly #open = new Map<string, Finding>()

  constructor(tell: (finding: Finding) => void) {
    this.#tell = tell
  }

  add(finding: Finding): void {
    const { file } = finding
    const open = this.#open.get(file)
    this.#open.delete(file)
    if (open === undefined) this.#open.set(file, finding)
    else if (isSame(open, finding) && touches(open, finding)) {
      const fromPosition = Math.min(open.fromPosition, finding.fromPosition)
      const toPosition = Math.max(open.toPosition, finding.toPosition)
      this.#open.set(file, { ...open, fromPosition, toPosition })
    } else {
      this.#close(open)
      this.#open.set(file, finding)
    }
    if (this.#open.size > OPEN_MAX) this.#closeOldest()
  }

  damage(file: string, range: readonly [from: number, to: number], what: string): void {
    this.add({ kind: 'damage', file, fromPosition: range[0], toPosition: range[1], what })
  }

  note(file: string, range: readonly [from: number, to: number], what: string): void {
    this.add({ kind: 'note', file, fromPosition: range[0], toPosition: range[1], what })
  }

  /** Tells what is still open. */
  end(): void {
    while (this.#open.size > 0) this.#closeOldest()
  }

  #closeOldest(): void {
    for (const [file, finding] of this.#open) {
      this.#open.delete(file)
      this.#close(finding)
      return
    }
  }

  #close(finding: Finding): void {
    if (finding.kind === 'damage') this.damageCount++
    else this.noteCount++
    this.#tell(finding)
  }
}

function isSame(a: Finding, b: Finding): boolean {
  return a.kind === b.kind && a.what === b.what
}

function touches(a: Finding, b: Finding): boolean {
  return a.fromPosition <= b.toPosition && b.fromPosition <= a.toPosition
}
