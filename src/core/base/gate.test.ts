import { expect, test } from 'vitest'
import { Gate, type Line } from './gate.ts'

/** Work that goes on until its turn to end, and what is under way of it. */
class Works {
  readonly underWay: number[] = []
  readonly #ends = new Map<number, (error?: Error) => void>()
  readonly #gate: Gate

  constructor(room: number, line?: Line) {
    this.#gate = new Gate(room, line)
  }

  start(weight: number): Promise<void> {
    return this.#gate.run(weight, () => {
      this.underWay.push(weight)
      return new Promise((resolve, reject) => {
        this.#ends.set(weight, error => {
          this.underWay.splice(this.underWay.indexOf(weight), 1)
          if (error === undefined) resolve()
          else reject(error)
        })
      })
    })
  }

  async end(weight: number, error?: Error): Promise<void> {
    this.#ends.get(weight)?.(error)
    // Enough turns for whoever is let in to have begun.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
}

test('what does not fit waits in line, and nothing lighter passes it', async () => {
  const works = new Works(10)
  const all = [4, 5, 9, 1].map(weight => works.start(weight))
  expect(works.underWay).toEqual([4, 5])
  await works.end(4)
  expect(works.underWay).toEqual([5])
  await works.end(5)
  expect(works.underWay).toEqual([9, 1])
  await works.end(9)
  await works.end(1)
  await Promise.all(all)
})

test('what is heavier than all the room goes alone', async () => {
  const works = new Works(10)
  const all = [1, 11, 2].map(weight => works.start(weight))
  expect(works.underWay).toEqual([1])
  await works.end(1)
  expect(works.underWay).toEqual([11])
  await works.end(11)
  expect(works.underWay).toEqual([2])
  await works.end(2)
  await Promise.all(all)
})

test('work that fails gives its room back', async () => {
  const works = new Works(1)
  const failing = works.start(1)
  const next = works.start(2)
  const failure = expect(failing).rejects.toThrow('broken')
  await works.end(1, new Error('broken'))
  await failure
  expect(works.underWay).toEqual([2])
  await works.end(2)
  await next
})

test('what finds the line full is told so, and the others go on', async () => {
  const works = new Works(1, { countMax: 1, reason: 'one waits already' })
  const all = [works.start(1), works.start(2)]
  await expect(works.start(3)).rejects.toMatchObject({
    code: 'STORE_BUSY',
    details: { reason: 'one waits already' },
  })
  await works.end(1)
  const last = works.start(4)
  expect(works.underWay).toEqual([2])
  await works.end(2)
  await works.end(4)
  await Promise.all([...all, last])
})
