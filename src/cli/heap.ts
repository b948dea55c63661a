import { setFlagsFromString } from 'node:v8'

/** How much the heap may grow beyond what is in use before unused memory is looked for. */
const GROWING_PERCENT = 40

/**
 * Keeps the heap of this process small. By itself V8 lets it grow to several times what is in use
 * on a machine with much memory, when many small things live for some milliseconds: what waits for
 * the disk does. To be called before the broker is loaded. See docs/operations/memory.md.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`)
}
