/** Resolves when all promises that are settled now have called back, and those that followed. */
export function microtasksDone(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
