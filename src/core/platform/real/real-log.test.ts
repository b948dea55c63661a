import { expect, it } from 'vitest'
import { BrokerError } from '../../base/index.ts'
import { RealLog } from './real-log.ts'

function linesOf(body: (log: RealLog) => void): readonly Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  const target = { write: (line: string) => lines.push(JSON.parse(line)) }
  body(new RealLog('info', target))
  return lines
}

it('writes one line with the message and the fields, at and above its level', () => {
  const lines = linesOf(log => {
    log.debug('too fine')
    log.info('started', { port: 10_911 })
    log.warn('slow')
  })
  expect(lines).toEqual([
    { level: 'info', time: expect.any(String), message: 'started', port: 10_911 },
    { level: 'warn', time: expect.any(String), message: 'slow' },
  ])
})

it('writes code, details, stack and cause of an error', () => {
  const lines = linesOf(log => {
    const cause = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    log.error('stopped', new BrokerError('STORE_FULL', { path: '/data/a' }, cause), { round: 2 })
  })
  expect(lines).toMatchObject([
    {
      level: 'error',
      message: 'stopped',
      round: 2,
      error: {
        code: 'STORE_FULL',
        details: { path: '/data/a' },
        stack: expect.stringContaining('real-log.test.ts'),
        cause: { code: 'ENOSPC', message: 'no space' },
      },
    },
  ])
})

it('writes an error that is none, one whose causes form a ring, and none at all', () => {
  const ring = new Error('ring')
  ring.cause = ring
  const lines = linesOf(log => {
    log.error('text', 'plain text')
    log.error('ring', ring)
    log.error('alone')
  })
  expect(lines[0]).toMatchObject({ error: { message: 'plain text' } })
  expect(lines[1]).toMatchObject({ error: { message: 'ring', cause: { message: 'ring' } } })
  expect(lines[2]).toEqual({ level: 'error', time: expect.any(String), message: 'alone' })
})
