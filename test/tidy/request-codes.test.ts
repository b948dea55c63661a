import { expect, test } from 'vitest'
import { servedProcessors } from '../../src/doors/remoting/index.ts'
import { REQUEST_CODE } from '../../src/model/wire/index.ts'
import { filesBelow, readText } from './repository-files.ts'

const FOLDER = 'src/doors/remoting/processors'
const PAGE = 'docs/protocol/remoting.md'

/** What the doc comments in the processors' files announce: `HEART_BEAT (34): …`. */
const announced = new Map(
  filesBelow(FOLDER)
    .filter(path => /^[^.]+\.ts$/.test(path))
    .flatMap(path => readText(path).match(/^ \* [A-Z][A-Z0-9_]+ \(\d+\).*$/gm) ?? [])
    .flatMap(line => Array.from(line.matchAll(/([A-Z][A-Z0-9_]+) \((\d+)\)/g)))
    .map(([, name = '', code = '']) => [Number(code), name]),
)

test('docs/protocol/remoting.md lists the requests that have a processor, and no other', () => {
  const rows = readText(PAGE).matchAll(/^\| (\d+) \| `([A-Z0-9_]+)` \|/gm)
  const documented = new Map(Array.from(rows, ([, code, name = '']) => [Number(code), name]))
  expect(announced.size).toBeGreaterThan(20)
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(announced))
})

test('what the processors announce has the codes of RocketMQ', () => {
  const known = new Map(Object.entries(REQUEST_CODE).map(([name, code]) => [code as number, name]))
  expect(Array.from(announced).filter(([code, name]) => known.get(code) !== name)).toEqual([])
})

test('what is served is announced, under the same name', () => {
  expect(servedProcessors.length).toBeGreaterThan(15)
  const silent = servedProcessors.filter(({ code, name }) => announced.get(code) !== name)
  expect(silent).toEqual([])
})
