import { expect, test } from 'vitest'
import { filesBelow, readText } from './repository-files.ts'

const files = filesBelow('.').filter(path => path !== 'package-lock.json')
const code = files.filter(path => /^(src|test|bench|scripts)\/.*\.(ts|mjs)$/.test(path))
const texts = files.filter(path => !/\.(png|jpg|ico|bin|jar|gz|zip)$/.test(path))

const LINES_MAX = 500

test('the checks of this file see the repository', () => {
  expect(code.length).toBeGreaterThan(30)
  expect(texts).toContain('package.json')
})

test('no file of code is longer than 500 lines', () => {
  const long = code.filter(path => readText(path).split('\n').length - 1 > LINES_MAX)
  expect(long).toEqual([])
})

test('files of code have kebab-case names that say what is in them', () => {
  const vague = /^(utils?|helpers?|common|types?|manager|misc|impl|shared)$/
  const wrong = code.filter(path => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const [stem = ''] = name.split('.')
    return !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.(ts|mjs)$/.test(name) || vague.test(stem)
  })
  expect(wrong).toEqual([])
})

/** Put together here, so that this file does not hold what it looks for. */
const FORBIDDEN: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    'a path of one machine',
    new RegExp(`(^|[\\s'"\`(=:])/(${['work', 'home', 'root', 'Users'].join('|')})/[a-z]`, 'm'),
  ],
  ['a host of a registry', new RegExp(`(registry|repo1?|proxy)\\.(npmjs|yarnpkg|maven|golang)\\.`)],
  ['the border of a merge', new RegExp(`^(${'<'.repeat(7)}|${'>'.repeat(7)}) `, 'm')],
  ['a host of a package index', new RegExp(`(pypi|pythonhosted|crates)\\.(org|io)\\b`)],
]

test.each(FORBIDDEN)('no file names %s', (_, pattern) => {
  expect(texts.filter(path => pattern.test(readText(path)))).toEqual([])
})

test('the lock file leaves out where packages were fetched from', () => {
  expect(readText('package-lock.json')).not.toMatch(/"resolved": "http/)
})
