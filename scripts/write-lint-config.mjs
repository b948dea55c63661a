import { writeFileSync } from 'node:fs'
import { lintConfigText } from './lint-config.mjs'

writeFileSync('.oxlintrc.json', lintConfigText())
