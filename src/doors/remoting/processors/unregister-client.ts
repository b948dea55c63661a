import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalText } from '../request-fields.ts'

/**
 * UNREGISTER_CLIENT (35): a producer or consumer of this connection stops.
 *
 * Request   clientID: string; producerGroup?, consumerGroup?: string
 * Response  nothing
 */
export const unregisterClient: Processor = {
  code: REQUEST_CODE.UNREGISTER_CLIENT,
  name: 'UNREGISTER_CLIENT',
  action: 'receive',
  resources: ({ header }) => {
    const group = optionalText(header.extFields, 'consumerGroup')
    return group === undefined ? [] : [{ group }]
  },
  handle({ header, connection }, { clients }) {
    const producer = optionalText(header.extFields, 'producerGroup')
    const consumer = optionalText(header.extFields, 'consumerGroup')
    clients.unregister(connection, { producer, consumer })
    return { code: RESPONSE_CODE.SUCCESS }
  },
}
