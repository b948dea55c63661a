import { expect, test } from 'vitest'
import { lintConfigText } from '../../scripts/lint-config.mjs'
import { readText } from './repository-files.ts'

test('.oxlintrc.json is what scripts/write-lint-config.mjs writes', () => {
  expect(readText('.oxlintrc.json')).toBe(lintConfigText())
})
