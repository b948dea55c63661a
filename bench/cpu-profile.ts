import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What V8 writes with `--cpu-prof`; only what we read. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      readonly lineNumber: number
    }
  }[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

export interface SelfTime {
  /** `function file:line`. */
  readonly place: string
  readonly seconds: number
  /** Of the time that was not idle. */
  readonly share: number
}

/** Where the threads of the profiles in a folder spent their own time, most first. */
export function summarizeProfiles(directory: string, count: number): readonly SelfTime[] {
  const names = readdirSync(directory).filter(name => name.endsWith('.cpuprofile'))
  if (names.length === 0) throw new Error('the broker left no profile: was it stopped cleanly?')
  const microseconds = new Map<string, number>()
  for (const name of names) {
    const text = readFileSync(join(directory, name), 'utf8')
    const profile: CpuProfile = JSON.parse(text)
    addSelfTimes(profile, microseconds)
  }
  microseconds.delete('(idle)')
  const total = [...microseconds.values()].reduce((sum, value) => sum + value, 0)
  return [...microseconds]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([place, value]) => ({ place, seconds: value / 1e6, share: value / total }))
}

function addSelfTimes(profile: CpuProfile, microseconds: Map<string, number>): void {
  const places = new Map(profile.nodes.map(node => [node.id, placeOf(node.callFrame)]))
  profile.samples.forEach((id, index) => {
    const place = places.get(id) ?? '(unknown)'
    // A sample stands for the time until the next one.
    const delta = profile.timeDeltas[index + 1] ?? 0
    microseconds.set(place, (microseconds.get(place) ?? 0) + delta)
  })
}

function placeOf(frame: CpuProfile['nodes'][number]['callFrame']): string {
  const name = frame.functionName === '' ? '(anonymous)' : frame.functionName
  if (frame.url === '') return name
  const file = frame.url.startsWith('file:')
    ? relative(process.cwd(), fileURLToPath(frame.url))
    : frame.url
  return `${name} ${file}:${frame.lineNumber + 1}`
}
