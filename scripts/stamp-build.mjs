// The last part of `npm run build`: notes what was built, for build-if-stale.mjs.
import { chmodSync, writeFileSync } from 'node:fs'
import { STAMP_FILE, sourceStamp } from './build-stamp.mjs'

chmodSync('dist/cli/main.js', 0o755)
writeFileSync(STAMP_FILE, sourceStamp())
