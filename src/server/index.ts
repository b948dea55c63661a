/** Composition: everything wired, started and stopped in order. */
export { openEngine, type Engine } from './engine.ts'
export { startServer, type RunningServer } from './start-server.ts'
