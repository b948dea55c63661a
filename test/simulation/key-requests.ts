import { decodeRecallHandle, PROPERTY } from '../../src/model/message/index.ts'
import type { Ledger, Send } from './ledger.ts'

/** What was asked of a key and is not answered: whom it may concern is in doubt meanwhile. */
export interface Asked {
  /** The broker that was asked. */
  readonly process: object
  readonly key: string
  /** Messages that it may cancel. */
  readonly mayCancel: Set<Send>
  /** Of these, those that surely waited when it was asked. */
  readonly known: ReadonlySet<Send>
  /** It may give any message of the key this time. */
  readonly mayMoveToMs: number | undefined
}

/** What is asked of own keys, and what must come of it. */
export class KeyRequests {
  readonly #asked = new Set<Asked>()

  /** Others that are not answered, of this life of the broker. */
  others(asked: Asked): Asked[] {
    return [...this.#asked].filter(other => {
      return other !== asked && other.key === asked.key && other.process === asked.process
    })
  }

  begin(asked: Asked): void {
    this.#asked.add(asked)
  }

  end(asked: Asked): void {
    this.#asked.delete(asked)
  }
}

/** The message that a handle names, also while its send is not answered. */
export function sendOfHandle({ sends }: Ledger, handle: string): Send | undefined {
  const number = /^SIM-(\d+)$/.exec(decodeRecallHandle(handle)?.uniqueKey ?? '')?.[1]
  return number === undefined ? undefined : sends.get(`${number}/0`)
}

/** A unique key by which the message is known before the answer. */
export function uniqueKeyOf(number: number): string {
  return `SIM-${number}`
}

/** Damage of a record may bring back what it replaced. */
export function damagedWithKey({ sends }: Ledger, topic: string, key: string): void {
  for (const send of sends.values()) {
    if (send.topic === topic && send.properties.get(PROPERTY.ORRERY_KEY) === key) {
      send.isDamaged = true
    }
  }
}
