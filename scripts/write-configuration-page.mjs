// Writes docs/operations/configuration.md from the built table: run `npm run build` first.
import { writeFileSync } from 'node:fs'
import { pageOf } from './configuration-page.mjs'

/** @type {typeof import('../src/core/config/index.ts')} */
const config = await import(new URL('../dist/core/config/index.js', import.meta.url).href)
writeFileSync('docs/operations/configuration.md', pageOf(config))
