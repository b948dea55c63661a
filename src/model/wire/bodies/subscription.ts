import type { BodyObject } from './body-object.ts'

/** What a group wants of one topic. */
export interface SubscriptionData {
  readonly topic: string
  /** `TAG` or `SQL92`; other words are passed on for the filter to refuse. */
  readonly expressionType: string
  /** The expression: `*`, `TagA || TagB`, or SQL92. */
  readonly subString: string
  readonly tagsSet: readonly string[]
  /** Java hash codes of the tags. */
  readonly codeSet: readonly number[]
  /** When the subscription was made, in the client's own unit; the higher replaces the lower one. */
  readonly subVersion: number
}

export function subscriptionFrom(body: BodyObject): SubscriptionData {
  return {
    topic: body.text('topic'),
    expressionType: body.text('expressionType', 'TAG'),
    subString: body.text('subString', '*'),
    tagsSet: body.texts('tagsSet'),
    codeSet: body.integers('codeSet'),
    subVersion: body.version('subVersion', 0),
  }
}

export function subscriptionJson(subscription: SubscriptionData): object {
  return {
    classFilterMode: false,
    codeSet: subscription.codeSet,
    expressionType: subscription.expressionType,
    subString: subscription.subString,
    subVersion: subscription.subVersion,
    tagsSet: subscription.tagsSet,
    topic: subscription.topic,
  }
}
