import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import {
  allowedImports,
  allowedOutside,
  importCell,
  modules,
  outsideModules,
  type Module,
} from '../../scripts/import-table.mjs'
import { filesBelow, readText } from './repository-files.ts'

interface Import {
  readonly file: string
  readonly target: string
}

const FROM = /^(?:import|export)\b[^'"]*?\bfrom\s+['"]([^'"]+)['"]/gm
const BARE = /^import\s+['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

const sources = filesBelow('src').filter(path => path.endsWith('.ts'))
const imports = sources.flatMap(file => importsOf(file, readText(file)))

function importsOf(file: string, text: string): readonly Import[] {
  return [FROM, BARE, DYNAMIC].flatMap(pattern =>
    Array.from(text.matchAll(pattern), ([, target = '']) => ({ file, target })),
  )
}

function moduleOf(path: string): Module | undefined {
  return modules.find(module => path.startsWith(`${module.folder}/`))
}

/** Tests, and the faces and suites that exist for them. */
function isForTests(file: string): boolean {
  return /(\.test|\btesting|-conformance)\.ts$/.test(file) || file.includes('/testing/')
}

function violation({ file, target }: Import): string | undefined {
  const from = moduleOf(file)
  if (from === undefined) return undefined
  if (target.startsWith('.')) return relativeViolation(from, file, target)
  if (isBuiltin(target)) return outsideViolation(from, file, target)
  if (from.packages.includes(target)) return undefined
  if (isForTests(file) && (target === 'vitest' || target === 'fast-check')) return undefined
  return `${file}: ${from.name} may not use the package ${target}`
}

function relativeViolation(from: Module, file: string, target: string): string | undefined {
  const path = posix.join(posix.dirname(file), target)
  if (!existsSync(path)) return `${file}: ${target} does not exist`
  const to = moduleOf(path)
  if (isForTests(file) && path.startsWith('test/support/')) return undefined
  if (to === undefined) return `${file}: ${target} is in no module`
  if (to.name === from.name) return undefined
  if (!allowedImports(from).includes(to.name)) return `${file}: ${from.name} imports ${to.name}`
  const faces = ['index.ts', ...(isForTests(file) ? to.testFaces : [])]
  return faces.includes(path.slice(to.folder.length + 1))
    ? undefined
    : `${file}: ${target} is not a face of ${to.name}`
}

function outsideViolation(from: Module, file: string, target: string): string | undefined {
  if (!target.startsWith('node:')) return `${file}: write node:${target}`
  const name = target.slice('node:'.length)
  if (!outsideModules.includes(name) || isForTests(file)) return undefined
  if (allowedOutside[from.world]?.includes(name)) return undefined
  return `${file}: ${from.name} may not use ${target}`
}

test('every import of the sources follows the table of modules', () => {
  const found = imports.map(violation).filter(text => text !== undefined)
  expect(found).toEqual([])
})

test('the check has seen every file and every import statement', () => {
  const statements = sources.flatMap(path =>
    readText(path)
      .split('\n')
      .filter(line => /^(?:import|export) .*from '|^\} from '|^import '/.test(line)),
  )
  const dynamic = imports.length - statements.length
  expect(sources.length).toBeGreaterThan(20)
  expect(statements.length).toBeGreaterThan(sources.length)
  expect(dynamic).toBeGreaterThanOrEqual(0)
  expect(dynamic).toBeLessThan(10)
})

test('the check finds what the table forbids', () => {
  const wrong = [
    ['src/engine/store/a.ts', '../timer/index.ts'],
    ['src/engine/store/a.ts', '../../core/base/assert.ts'],
    ['src/engine/store/a.ts', 'node:fs'],
    ['src/engine/store/a.ts', 'fs'],
    ['src/engine/store/a.ts', 'pino'],
    ['src/engine/store/a.ts', './missing.ts'],
    ['src/core/base/a.ts', '../platform/index.ts'],
  ] as const
  const found = wrong.map(([file, target]) => violation({ file, target }))
  expect(found.filter(text => text === undefined)).toEqual([])
  const file = 'src/engine/store/a.ts'
  expect(violation({ file, target: '../../core/base/index.ts' })).toBeUndefined()
})

test('every source file belongs to a module, or is a face of the package', () => {
  const faces = ['src/index.ts', 'src/testing.ts']
  const homeless = sources.filter(path => moduleOf(path) === undefined)
  expect(homeless.filter(path => !faces.includes(path))).toEqual([])
})

test('no folder inside a module bears the name of a module', () => {
  const names = new Set(modules.map(module => module.name))
  const folders = sources.flatMap(path => {
    const module = moduleOf(path)
    if (module === undefined) return []
    return posix.dirname(path).slice(module.folder.length).split('/')
  })
  expect(folders.filter(folder => names.has(folder))).toEqual([])
})

test.skipIf(!existsSync('ARCHITECTURE.md'))(
  'the table of ARCHITECTURE.md is that of scripts/import-table.mjs',
  () => {
    const rows = readText('ARCHITECTURE.md').matchAll(/^\| `([a-z]+)` \|[^|]*\|([^|]*)\|$/gm)
    const documented = Array.from(rows, ([, name = '', cell = '']) => [name, cell.trim()] as const)
    const cells = new Map(documented)
    const expected = modules
      .filter(module => cells.has(module.name) || existsSync(module.folder))
      .map(module => [module.name, importCell(module)] as const)
    expect(documented.filter(([name]) => modules.some(module => module.name === name))).toEqual(
      expected,
    )
    expect(expected.length).toBeGreaterThan(10)
  },
)
