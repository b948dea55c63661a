import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { filesBelow, readText } from './repository-files.ts'

const FOLDER = 'src/doors/remoting/processors'
const PAGE = 'docs/protocol/remoting.md'

interface Named {
  readonly code: number
  readonly name: string
}

function isProcessor(value: unknown): value is Named {
  if (typeof value !== 'object' || value === null) return false
  return 'code' in value && typeof value.code === 'number' && 'name' in value && 'handle' in value
}

/** Processors stand alone or, where several codes share one rule, in an array. */
async function processorsIn(path: string): Promise<readonly Named[]> {
  const exports: object = await import(pathToFileURL(resolve(path)).href)
  return Object.values(exports).flat().filter(isProcessor)
}

test.skipIf(!existsSync(PAGE) || !existsSync(FOLDER))(
  'docs/protocol/remoting.md lists the request codes that have a processor, and no other',
  async () => {
    const files = filesBelow(FOLDER).filter(path => /^[^.]+\.ts$/.test(path))
    const found = (await Promise.all(files.map(processorsIn))).flat()
    const built = new Map(found.map(({ code, name }) => [code, name]))
    const rows = readText(PAGE).matchAll(/^\| (\d+) \| `([A-Z0-9_]+)` \|/gm)
    const documented = new Map(Array.from(rows, ([, code, name = '']) => [Number(code), name]))
    expect(built.size).toBeGreaterThan(20)
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(built))
  },
)
