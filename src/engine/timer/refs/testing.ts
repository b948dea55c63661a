import type { KeyValues, Platform } from '../../../core/platform/index.ts'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { digestOfKey, KeyIndex } from '../keys/key-index.ts'
import { openMovedIndex } from '../moved-index.ts'
import type { RefIndex, RefIndexParts, RefLookup } from './ref-index.ts'

export const DUE_MS = 1_800_000_000_000
export const STAGED_COUNT = 200
const DIRECTORY = '/data/orrery/refs'
const ENTRIES_FROM = Buffer.from([1])
const TO = Buffer.from([2])

/** What does not depend on by what messages are found. */
type Steps = Omit<RefIndex<unknown>, 'set' | 'add' | 'find' | 'isCurrent'>

/** An index whose keys are made of numbers. */
interface Numbered {
  readonly index: Steps
  readonly set: (number: number, timerId: number) => void
  readonly add: (number: number, timerId: number) => Promise<void>
  readonly find: (number: number) => Promise<RefLookup>
  readonly isCurrent: (number: number, lookup: RefLookup) => boolean
}

export interface Kind {
  readonly words: string
  readonly keptMs: number
  readonly open: (parts: RefIndexParts, section: unknown) => Promise<Numbered>
}

/** All indexes of waiting messages. */
export const KINDS: readonly Kind[] = [
  {
    words: 'own keys',
    keptMs: 3_600_000,
    open: async (parts, section) => {
      const { refs } = await KeyIndex.open(parts, section)
      return numbered(refs, number => digestOfKey('orders', `${number}`))
    },
  },
  {
    words: 'moved messages',
    keptMs: 30 * 86_400_000,
    open: async (parts, section) =>
      numbered(await openMovedIndex(parts, section), number => number),
  },
]

function numbered<Key>(index: RefIndex<Key>, keyOf: (number: number) => Key): Numbered {
  return {
    index,
    set: (number, timerId) => index.set(keyOf(number), { timerId, deliverTimeMs: DUE_MS }),
    add: (number, timerId) => index.add(keyOf(number), { timerId, deliverTimeMs: DUE_MS }),
    find: number => index.find(keyOf(number)),
    isCurrent: (number, lookup) => index.isCurrent(keyOf(number), lookup),
  }
}

/** An index whose checkpoints are taken by hand, over several starts. */
export class IndexScene {
  readonly world: SimulatedWorld = new SimulatedWorld({ seed: 1 })
  readonly parked: Set<number> = new Set()
  readonly #kind: Kind
  #numbered: Numbered | undefined
  /** Until then what was read from disk is on its way. */
  #heard: Promise<void> = Promise.resolve()
  firedMs = 0
  /** What the manifest has. */
  section: unknown

  private constructor(kind: Kind) {
    this.#kind = kind
  }

  static async begin(kind: Kind): Promise<IndexScene> {
    const scene = new IndexScene(kind)
    await scene.open()
    return scene
  }

  get index(): Steps {
    return this.numbered.index
  }

  get numbered(): Numbered {
    if (this.#numbered === undefined) throw new Error('the index is closed')
    return this.#numbered
  }

  async open(): Promise<void> {
    const platform = withLateReads(this.world.platform, () => this.#heard)
    const firedMs = (): number => this.firedMs
    const isParked = (timerId: number): boolean => this.parked.has(timerId)
    const bounds = { stagedCountLong: STAGED_COUNT }
    const parts = { platform, directory: DIRECTORY, firedMs, isParked, ...bounds }
    this.#numbered = await this.world.finish(this.#kind.open(parts, this.section))
  }

  async close(): Promise<void> {
    await this.world.finish(this.index.close())
    this.#numbered = undefined
  }

  async reopen(): Promise<void> {
    await this.close()
    await this.open()
  }

  async checkpoint(appliedOffset: number): Promise<void> {
    const section = this.index.snapshot(appliedOffset)
    await this.world.finish(this.index.write())
    this.section = section
  }

  async found(number: number): Promise<number | undefined> {
    return (await this.world.finish(this.numbered.find(number))).ref?.timerId
  }

  /** What a look gives whose read is over on the disk, while something else is done. */
  async meanwhile<T>(look: () => Promise<T>, work: () => Promise<void>): Promise<T> {
    let hear: (() => void) | undefined
    this.#heard = new Promise(resolve => {
      hear = resolve
    })
    const looking = look()
    await this.world.runFor(1_000)
    await work()
    hear?.()
    return this.world.finish(looking)
  }

  /** One message, all that there is, in the map. */
  async write(number: number, timerId: number): Promise<void> {
    this.numbered.set(number, timerId)
    await this.checkpoint(timerId + 1)
  }

  /** Of messages on the disk, while the index is closed. */
  async entryKeys(): Promise<readonly Buffer[]> {
    const values = await this.world.finish(this.world.platform.keyValues.open(DIRECTORY))
    const entries = await this.world.finish(values.range(ENTRIES_FROM, TO, 10_000))
    await this.world.finish(values.close())
    return entries.map(({ key }) => key)
  }

  /** While the index is closed. */
  async writeRaw(key: Buffer, value: Buffer): Promise<void> {
    const values = await this.world.finish(this.world.platform.keyValues.open(DIRECTORY))
    await this.world.finish(values.write([{ key, value }], true))
    await this.world.finish(values.close())
  }

  /** While the index is closed. */
  async removeFiles(): Promise<void> {
    const { files } = this.world.outside
    for (const name of await this.fileNames()) {
      await this.world.finish(files.remove(`${DIRECTORY}/${name}`))
    }
  }

  fileNames(): Promise<readonly string[]> {
    return this.world.finish(this.world.outside.files.list(DIRECTORY))
  }

  errorCount(): number {
    return this.world.logLines.filter(({ level }) => level === 'error').length
  }
}

/** A read is over on the disk before who asked for it hears of it; `heard` says when that is. */
function withLateReads(platform: Platform, heard: () => Promise<void>): Platform {
  const open = async (directory: string): Promise<KeyValues> => {
    const values = await platform.keyValues.open(directory)
    return {
      get: key => values.get(key),
      getMany: async keys => {
        const found = await values.getMany(keys)
        await heard()
        return found
      },
      range: (from, to, countMax) => values.range(from, to, countMax),
      write: (changes, isDurable) => values.write(changes, isDurable),
      close: () => values.close(),
    }
  }
  return { ...platform, keyValues: { open } }
}
