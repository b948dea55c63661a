import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OpenAccess } from './index.ts'

test('open access allows every action at every door, signed or not', () => {
  const requests = fc.record(
    {
      door: fc.constantFrom('remoting' as const, 'nameserver' as const),
      action: fc.constantFrom(
        'send' as const,
        'receive' as const,
        'manage' as const,
        'read' as const,
      ),
      topic: fc.string(),
      group: fc.string(),
      credentials: fc.record({
        accessKey: fc.string(),
        signature: fc.string(),
        signedContent: fc.constant(Buffer.from('content')),
      }),
    },
    { requiredKeys: ['door', 'action'] },
  )
  const access = new OpenAccess()
  fc.assert(
    fc.property(requests, request => {
      expect(access.decide(request)).toEqual({ kind: 'allowed' })
    }),
  )
})
