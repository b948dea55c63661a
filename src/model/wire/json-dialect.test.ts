import { expect, test } from 'vitest'
import { parseDialect, stringifyObjectMap } from './json-dialect.ts'

function refusal(text: string, limits = {}): unknown {
  try {
    parseDialect(text, limits)
  } catch (error) {
    return error
  }
  return undefined
}

test('whole numbers are names without quotes', () => {
  expect(JSON.stringify(parseDialect('{0:"127.0.0.1:10911", 1 :"b"}'))).toBe(
    '{"0":"127.0.0.1:10911","1":"b"}',
  )
})

test('an object as a name becomes its compact text', () => {
  const parsed = parseDialect('{"offsetTable":{{"brokerName": "a","queueId":0}:{"maxOffset":5}}}')
  expect(JSON.stringify(parsed)).toBe(
    '{"offsetTable":{"{\\"brokerName\\":\\"a\\",\\"queueId\\":0}":{"maxOffset":5}}}',
  )
})

test('what is written with objects as names is read again', () => {
  const written = stringifyObjectMap([
    [{ queueId: 1 }, 3],
    [{ queueId: 2 }, { maxOffset: 4 }],
  ])
  expect(written).toBe('{{"queueId":1}:3,{"queueId":2}:{"maxOffset":4}}')
  expect(Object.keys(parseDialect(written) ?? {})).toEqual(['{"queueId":1}', '{"queueId":2}'])
})

test('a name is only a name, whatever it is called', () => {
  const parsed = parseDialect('{"__proto__":{"a":1}}') ?? {}
  expect(Object.getPrototypeOf(parsed)).toBeNull()
  expect(Object.keys(parsed)).toEqual(['__proto__'])
})

test('nesting and the number of values are limited', () => {
  expect(refusal('['.repeat(100_000))).toMatchObject({
    code: 'PARAMETER_INVALID',
    details: { jsonDepthMax: 32 },
  })
  expect(refusal('{"a":'.repeat(100_000))).toMatchObject({
    code: 'PARAMETER_INVALID',
    details: { jsonDepthMax: 32 },
  })
  expect(refusal('[1,2,3]', { valuesMax: 3 })).toMatchObject({ details: { jsonValuesMax: 3 } })
})

function nested(count: number): string {
  return `${'{'.repeat(count)}"a":1${'}:1'.repeat(count - 1)}}`
}

test('an object as a name has no such name itself, however few bytes ask for it', () => {
  expect(parseDialect(nested(2))).toEqual({ '{"a":1}': 1 })
  expect(refusal(nested(3))).toMatchObject({ code: 'PARAMETER_INVALID' })
  // Written out, the innermost quotes would have 2^30 backslashes.
  expect(refusal(nested(31))).toMatchObject({ code: 'PARAMETER_INVALID' })
  expect(refusal('{{"x":{{"a":1}:1}}:1}')).toMatchObject({ code: 'PARAMETER_INVALID' })
})

test.each([
  '',
  '{',
  '{"a"}',
  '{"a":}',
  '[1,]',
  '{,}',
  '"\\q"',
  '"open',
  '+1',
  'nul',
  '1 2',
  "{'a':1}",
])('the text %j is refused with its position', text => {
  expect(refusal(text)).toMatchObject({ code: 'PARAMETER_INVALID' })
})
