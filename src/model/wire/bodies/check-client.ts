import { bodyObject } from './body-object.ts'
import { type SubscriptionData, subscriptionFrom, subscriptionJson } from './subscription.ts'

/** A subscription to be checked: the body of CHECK_CLIENT_CONFIG (46). */
export interface CheckClient {
  readonly clientId: string
  readonly group: string
  readonly subscription: SubscriptionData
}

export function decodeCheckClient(body: Uint8Array): CheckClient {
  const check = bodyObject(body)
  return {
    clientId: check.text('clientId'),
    group: check.text('group'),
    subscription: subscriptionFrom(check.object('subscriptionData')),
  }
}

export function encodeCheckClient(check: CheckClient): Buffer {
  return Buffer.from(
    JSON.stringify({
      clientId: check.clientId,
      group: check.group,
      subscriptionData: subscriptionJson(check.subscription),
    }),
  )
}
