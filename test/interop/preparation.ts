/** Brings what a test needs into the cache folder, once: other people's libraries and servers. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { missingPrograms, runOrThrow } from './command.ts'

/** Downloads on a slow line included. */
export const PREPARE_MS = 300_000

const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies'

export type Prepared<Ready> =
  | { readonly kind: 'ready'; readonly ready: Ready }
  | { readonly kind: 'missing'; readonly reason: string }

export interface Preparation {
  readonly programs: readonly string[]
  /** Where the result lies. Emptied before `make` runs. */
  readonly folder: string
  /** Folders whose content decides whether `make` has to run again. */
  readonly sources: readonly string[]
  readonly make: () => Promise<void>
}

/** Runs `make` unless the folder holds its result for these sources already. Tries it twice. */
export async function prepare(preparation: Preparation): Promise<Prepared<undefined>> {
  const { programs, folder, sources, make } = preparation
  const missing = missingPrograms(programs)
  if (missing.length > 0) return { kind: 'missing', reason: `needs ${missing.join(', ')}` }
  const stampFile = join(folder, 'stamp')
  const stamp = hashOf(sources)
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) {
    return { kind: 'ready', ready: undefined }
  }
  const attempt = async (): Promise<void> => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await make()
  }
  // A registry may fail once; what fails twice is told.
  await attempt().catch(attempt)
  writeFileSync(stampFile, stamp)
  return { kind: 'ready', ready: undefined }
}

/** Copies jars from Maven's repository, one after the other: parallel Mavens damage what they share. */
export class JarCopier {
  #previous: Promise<void> = Promise.resolve()

  /** Copies the jars that a `pom.xml` asks for, with all they need, to a folder. */
  copy(pomFolder: string, toFolder: string): Promise<void> {
    const args = ['-q', '-B', '-f', join(pomFolder, 'pom.xml'), MAVEN_COPY]
    args.push(`-DoutputDirectory=${toFolder}`)
    const copied = this.#previous.then(() => runOrThrow({ program: 'mvn', args }, PREPARE_MS))
    this.#previous = copied.catch(() => undefined) // whoever waits for `copied` is told
    return copied
  }
}

function hashOf(folders: readonly string[]): string {
  const hash = createHash('sha256')
  for (const folder of folders) {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
    for (const name of names.toSorted()) hash.update(name).update(readFileSync(name))
  }
  return hash.digest('hex')
}
