/** Builds the broker's tables on a simulated disk, for tests of this and other modules. */
import { readWholeFile, replaceFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { GroupTable } from './groups.ts'
import { QueueLocks } from './queue-locks.ts'
import { TopicTable, type TopicTableOptions } from './topics.ts'

export const CONFIG_DIRECTORY = '/data/config'

const TOPIC_OPTIONS: TopicTableOptions = {
  directory: CONFIG_DIRECTORY,
  brokerName: 'broker-a',
  clusterName: 'DefaultCluster',
  autoCreate: true,
  defaultQueueCount: 8,
  levelCount: 18,
  hasMessages: false,
}

/** A world whose disk has the folder that the tables write to. */
export async function configWorld(seed = 1): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed })
  const { files } = world.outside
  await world.finish(files.makeDirectory(CONFIG_DIRECTORY))
  await world.finish(files.syncDirectory('/data'))
  await world.finish(files.syncDirectory('/'))
  return world
}

export function openTopics(
  world: SimulatedWorld,
  changes: Partial<TopicTableOptions> = {},
): Promise<TopicTable> {
  return world.finish(TopicTable.open({ ...TOPIC_OPTIONS, ...changes }, world.platform))
}

export function openGroups(world: SimulatedWorld, autoCreate = true): Promise<GroupTable> {
  const options = { directory: CONFIG_DIRECTORY, autoCreate, hasMessages: false }
  return world.finish(GroupTable.open(options, world.platform))
}

export async function openTables(world: SimulatedWorld): Promise<{
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly locks: QueueLocks
}> {
  const topics = await openTopics(world)
  const groups = await openGroups(world)
  return { topics, groups, locks: new QueueLocks(world.platform.clock) }
}

/** Puts a file there as another program has left it. */
export async function leaveFile(world: SimulatedWorld, name: string, text: string): Promise<void> {
  const path = `${CONFIG_DIRECTORY}/${name}`
  await world.finish(replaceFile(world.outside.files, path, Buffer.from(text)))
}

/** What a file holds, by a parser that is not ours. */
export async function fileJson(world: SimulatedWorld, name: string): Promise<unknown> {
  const path = `${CONFIG_DIRECTORY}/${name}`
  const bytes = await world.finish(readWholeFile(world.outside.files, path))
  return bytes === undefined ? undefined : JSON.parse(bytes.toString())
}
