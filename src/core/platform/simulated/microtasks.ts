/** Resolves when all promises that are settled now have called back, and those that followed. */
export function microtasksDone(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}

/** The same at a third of the cost; the program's own input, output and timers get no turn. */
export function microtasksDoneSoon(): Promise<void> {
  return new Promise(resolve => {
    process.nextTick(resolve)
  })
}
