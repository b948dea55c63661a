import type { ClientRegistry, GroupTable } from '../../engine/broker/index.ts'
import { encodeFrame, ONEWAY_FLAG, REQUEST_CODE } from '../../model/wire/index.ts'

/**
 * Tells the members of a group, one-way, whenever its membership or topics change, so that they
 * share its queues anew at once instead of within twenty seconds. Returns a function that ends it.
 */
export function noticeGroupChanges(clients: ClientRegistry, groups: GroupTable): () => void {
  return clients.onGroupChanged((group, members) => {
    if (groups.find(group)?.notifyMembers === false) return
    const frame = consumerIdsChangedFrame(group)
    for (const member of members) member.send(frame)
  })
}

/** NOTIFY_CONSUMER_IDS_CHANGED (40). Nobody answers it, so its `opaque` matches nothing. */
function consumerIdsChangedFrame(group: string): Buffer {
  return encodeFrame({
    code: REQUEST_CODE.NOTIFY_CONSUMER_IDS_CHANGED,
    opaque: 0,
    flag: ONEWAY_FLAG,
    extFields: { consumerGroup: group },
  })
}
