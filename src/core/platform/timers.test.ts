import { describe, expect, it, test } from 'vitest'
import type { Clock, Timers } from './index.ts'
import { realPlatform } from './index.ts'
import { RealTimers } from './real/real-time.ts'
import { SimulatedWorld } from './simulated/index.ts'

interface Place {
  readonly clock: Clock
  readonly timers: Timers
  readonly run: <T>(body: () => Promise<T>) => Promise<T>
}

function realPlace(): Place {
  const { clock, timers } = realPlatform({ logLevel: 'silent' })
  return { clock, timers, run: body => body() }
}

function simulatedPlace(): Place {
  const world = new SimulatedWorld({ seed: 13 })
  const { clock, timers } = world.platform
  return { clock, timers, run: body => world.finish(body()) }
}

describe.each([
  ['real', realPlace],
  ['simulated', simulatedPlace],
])('the %s timers', (_name, newPlace) => {
  it('call back at a time, never before, whole milliseconds', async () => {
    const { clock, timers, run } = newPlace()
    const earlyMs = await run(async () => {
      const waits = Array.from({ length: 40 }, (_, index) => {
        const dueMs = clock.timeMs() + index
        return new Promise<number>(resolve => {
          timers.at(dueMs, () => {
            resolve(dueMs - clock.timeMs())
          })
        })
      })
      return Promise.all(waits)
    })
    expect(Math.max(...earlyMs)).toBeLessThanOrEqual(0)
    expect(Number.isInteger(clock.timeMs())).toBe(true)
  })

  it('call back after a delay of uptime, never before', async () => {
    const { clock, timers, run } = newPlace()
    const earlyMs = await run(async () => {
      const waits = [0, 0.3, 1, 2.5, 7].map(delayMs => {
        const startedMs = clock.uptimeMs()
        return new Promise<number>(resolve => {
          timers.after(delayMs, () => {
            resolve(startedMs + delayMs - clock.uptimeMs())
          })
        })
      })
      return Promise.all(waits)
    })
    expect(Math.max(...earlyMs)).toBeLessThanOrEqual(1e-6)
  })

  it('call back soon for a time in the past, but not at once', async () => {
    const { clock, timers, run } = newPlace()
    const calls: string[] = []
    await run(
      () =>
        new Promise<void>(resolve => {
          timers.at(clock.timeMs() - 1_000_000, () => {
            calls.push('past')
            resolve()
          })
          timers.soon(() => {
            calls.push('soon')
          })
          calls.push('now')
        }),
    )
    expect(calls[0]).toBe('now')
    expect(calls).toContain('past')
  })

  it('do not call back after a cancellation, which may come late', async () => {
    const { clock, timers, run } = newPlace()
    const calls: string[] = []
    await run(async () => {
      const cancelled = timers.at(clock.timeMs() + 2, () => calls.push('at'))
      timers.after(2, () => calls.push('after')).cancel()
      cancelled.cancel()
      const last = await new Promise<{ cancel(): void }>(resolve => {
        const timer = timers.after(10, () => {
          resolve(timer)
        })
      })
      last.cancel()
      cancelled.cancel()
    })
    expect(calls).toEqual([])
  })

  it('call back soon in the order of the asking', async () => {
    const { timers, run } = newPlace()
    const calls: number[] = []
    await run(
      () =>
        new Promise<void>(resolve => {
          for (let index = 0; index < 5; index++) {
            timers.soon(() => {
              calls.push(index)
              if (index === 4) resolve()
            })
          }
        }),
    )
    expect(calls).toEqual([0, 1, 2, 3, 4])
  })
})

test('the real timers look at the wall clock while they wait, and see that it was stepped', async () => {
  let stepMs = 0
  const clock = { timeMs: () => Date.now() + stepMs, uptimeMs: () => performance.now() }
  const timers = new RealTimers(clock)
  const fired = new Promise<number>(resolve => {
    timers.at(clock.timeMs() + 3_600_000, () => resolve(clock.timeMs()))
  })
  const dueMs = clock.timeMs() + 3_600_000
  stepMs = 3_600_000
  // Within a second; a timer that looks no more makes the test run out of time.
  expect(await fired).toBeGreaterThanOrEqual(dueMs - 1)
})

describe('the simulated timers', () => {
  it('follow a step of the clock forwards within a second', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const { clock, timers } = world.platform
    let firedMs = -1
    timers.at(clock.timeMs() + 3_600_000, () => {
      firedMs = world.uptimeMs
    })
    await world.runFor(100)
    world.stepClock(3_600_000)
    await world.run(() => firedMs >= 0)
    expect(firedMs).toBeLessThanOrEqual(1_102)
  })

  it('wait longer after a step backwards, and a delay does not', async () => {
    const world = new SimulatedWorld({ seed: 2 })
    const { clock, timers } = world.platform
    const fired: string[] = []
    timers.at(clock.timeMs() + 1_000, () => fired.push('at'))
    timers.after(1_000, () => fired.push('after'))
    world.stepClock(-5_000)
    await world.runFor(5_900)
    expect(fired).toEqual(['after'])
    await world.runFor(200)
    expect(fired).toEqual(['after', 'at'])
    expect(world.faults.counts().clockStep).toBe(1)
  })

  it('die with their process, whose successor starts with an uptime of 0', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const old = world.platform
    const fired: string[] = []
    old.timers.at(old.clock.timeMs() + 10, () => fired.push('at'))
    old.timers.after(10, () => fired.push('after'))
    await world.runFor(5)
    world.kill()
    old.timers.soon(() => fired.push('soon'))
    world.stepClock(1_000)
    expect(await world.run(() => false)).toBe(false)
    expect(fired).toEqual([])
    expect(world.platform.clock.uptimeMs()).toBeLessThan(world.uptimeMs - 4)
  })
})
