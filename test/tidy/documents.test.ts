import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { pageOf } from '../../scripts/configuration-page.mjs'
import { errorSpecs } from '../../src/core/base/index.ts'
import {
  foreignKeyNotes,
  optionFlag,
  optionNames,
  optionSpec,
  optionVariable,
  rangeText,
  valueText,
} from '../../src/core/config/index.ts'
import { filesBelow, readText } from './repository-files.ts'

const sources = ['src', 'test', 'bench', 'scripts']
  .flatMap(filesBelow)
  .filter(path => /\.(ts|mjs)$/.test(path))
const pages = [
  ...filesBelow('docs'),
  ...filesBelow('.').filter(path => !path.includes('/')),
].filter(path => path.endsWith('.md'))

function headings(path: string): readonly string[] {
  return Array.from(readText(path).matchAll(/^### `([^`]+)`$/gm), ([, name = '']) => name)
}

test('docs/errors.md has one heading for every error code, in order, and no other', () => {
  expect(headings('docs/errors.md')).toEqual(Object.keys(errorSpecs))
})

test('docs/errors.md gives the wire code of every error and whether trying again helps', () => {
  const sections = readText('docs/errors.md').split(/^### /m).slice(1)
  const said = sections.map(section => {
    const [, code = ''] = /^`([A-Z_]+)`/.exec(section) ?? []
    const [, wire = '', again = ''] = /^Wire code (\d+); (retryable|final)\./m.exec(section) ?? []
    return [code, `${wire} ${again}`]
  })
  const expected = Object.entries(errorSpecs).map(([code, spec]) => [
    code,
    `${spec.remotingCode} ${spec.retryable ? 'retryable' : 'final'}`,
  ])
  expect(said).toEqual(expected)
})

test('docs/errors.md explains every error in words of its own', () => {
  const sections = readText('docs/errors.md').split(/^### /m).slice(1)
  const short = sections.filter(section => (section.split('\n\n')[2] ?? '').trim().length < 30)
  expect(short).toEqual([])
})

test('docs/operations/configuration.md is what the table of options says', () => {
  const path = 'docs/operations/configuration.md'
  const names = { optionNames, optionFlag, optionVariable, foreignKeyNotes }
  expect(headings(path)).toEqual(optionNames)
  expect(readText(path)).toBe(pageOf({ ...names, optionSpec, rangeText, valueText }))
})

test('every document that the code points to exists', () => {
  const named = sources.flatMap(path =>
    Array.from(readText(path).matchAll(/docs\/[a-z0-9/-]+\.md/g), ([page]) => `${page} (${path})`),
  )
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter(text => !existsSync(text.slice(0, text.indexOf(' '))))).toEqual([])
})

test('every page of docs/formats is pointed to by the code that reads or writes the file', () => {
  const texts = sources.filter(path => path.startsWith('src/')).map(readText)
  const formats = existsSync('docs/formats') ? filesBelow('docs/formats') : []
  expect(formats.filter(page => !texts.some(text => text.includes(page)))).toEqual([])
})

test('every link between documents leads to a file', () => {
  const links = pages.flatMap(page =>
    Array.from(
      readText(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g),
      ([, link = '']) => ({
        page,
        path: posix.join(posix.dirname(page), link),
      }),
    ),
  )
  expect(links.filter(({ path }) => !existsSync(path))).toEqual([])
})
