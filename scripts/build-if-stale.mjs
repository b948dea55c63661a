// Runs before `npm start`: builds when the sources are others than those of the last build.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { STAMP_FILE, sourceStamp } from './build-stamp.mjs'

const built = existsSync(STAMP_FILE) ? readFileSync(STAMP_FILE, 'utf8') : undefined
if (built !== sourceStamp()) {
  console.error('building (once after each change of the sources) …')
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
  if (status !== 0) {
    console.error('the build failed; `npm ci` installs the tools that it needs')
    process.exit(1)
  }
}
