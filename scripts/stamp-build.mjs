// The last part of `npm run build`: removes what sources that are gone have left behind, and notes
// what was built, for build-if-stale.mjs. Nothing that is in use is taken away meanwhile.
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { STAMP_FILE, sourceStamp } from './build-stamp.mjs'

const outputs = readdirSync('dist', { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => join(entry.parentPath, entry.name))

for (const path of outputs) {
  const source = join('src', relative('dist', path)).replace(/(\.d\.ts|\.js(\.map)?)$/, '.ts')
  if (path !== STAMP_FILE && !existsSync(source)) rmSync(path)
}
chmodSync('dist/cli/main.js', 0o755)
writeFileSync(STAMP_FILE, sourceStamp())
