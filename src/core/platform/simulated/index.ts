/** A whole world from one seed, for tests: its disk, clock and network fail as real ones do. */
export {
  type FaultKind,
  type Faults,
  type FileCall,
  type ObservedCall,
  type ProgrammedFailure,
} from './faults.ts'
export { SeededRandom } from './seeded-random.ts'
export type { FlippedBit, SimulatedDisk } from './simulated-disk.ts'
export type { LogLine } from './simulated-log.ts'
export type { WorldNetwork } from './simulated-network.ts'
export { SimulatedWorld, type SimulatedWorldOptions } from './simulated-world.ts'
