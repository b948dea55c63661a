import { expect, test } from 'vitest'
import { RemovalRecount } from './removal-recount.ts'

test('a mark that is not counted is missing, and only that', () => {
  const recount = new RemovalRecount(100, 400, 1)
  recount.read(100, 10, true)
  recount.read(200, 10, false)
  recount.read(300, 30, true)
  expect(recount.missing).toEqual({ count: 1, recordBytes: 20 })
})

test('marks that are made meanwhile are counted by who makes them', () => {
  const recount = new RemovalRecount(100, 400, 0)
  recount.marked(50, 10)
  recount.marked(400, 10)
  recount.read(100, 10, false)
  recount.marked(100, 10)
  recount.marked(200, 10)
  recount.read(200, 10, true)
  recount.read(300, 10, false)
  expect(recount.missing).toEqual({ count: 0, recordBytes: 0 })
})

test('damage, which hides marks, takes nothing from what is counted', () => {
  const recount = new RemovalRecount(100, 400, 2)
  recount.read(100, 10, true)
  expect(recount.missing).toEqual({ count: 0, recordBytes: 0 })
})
