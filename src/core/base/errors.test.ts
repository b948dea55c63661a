import { expect, test } from 'vitest'
import { BrokerError, errorOfRemark, errorSpecs, InvariantError, operatingError } from './index.ts'

function remarkOf(error: BrokerError): string {
  return `${error.code}: ${error.message}`
}

test('every error is read back from the remark of an answer', () => {
  const errors = Object.keys(errorSpecs).map(code => errorOfRemark(`${code}: anything`))
  expect(errors.map(error => error?.code)).toEqual(Object.keys(errorSpecs))
})

test('the details come back one by one', () => {
  const details = { topic: '"a, b=c"', '--max': 'x is not 1 or more', empty: '' }
  const error = new BrokerError('TOPIC_NAME_INVALID', { topic: '"a b"', count: 3 })
  expect(errorOfRemark(remarkOf(error))).toMatchObject({
    code: 'TOPIC_NAME_INVALID',
    details: { topic: '"a b"', count: '3' },
    message: error.message,
  })
  const odd = errorOfRemark(remarkOf(new BrokerError('OPTION_INVALID', details)))
  expect(odd?.message).toBe(new BrokerError('OPTION_INVALID', details).message)
  expect(errorOfRemark(remarkOf(new BrokerError('STORE_BUSY')))?.details).toEqual({})
})

test('what cannot be taken apart is kept as it is', () => {
  expect(errorOfRemark('STORE_FULL: no room')?.details).toEqual({ remark: 'no room' })
  const { message } = errorSpecs.STORE_FULL
  expect(errorOfRemark(`STORE_FULL: ${message} (so)`)?.details).toEqual({ remark: 'so' })
})

test.each(['', ' request type 105 not supported', 'No topic route info: T', 'toString: x', ': x'])(
  'the remark %j names no error',
  remark => {
    expect(errorOfRemark(remark)).toBeUndefined()
  },
)

test('an operating error is lived with, and a mistake of ours is not', () => {
  const full = new BrokerError('STORE_FULL')
  expect(operatingError(full)).toBe(full)
  expect(() => operatingError(new InvariantError('a slot is free'))).toThrow('a slot is free')
})
