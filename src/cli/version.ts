import { readFileSync } from 'node:fs'

/** The version in package.json, which lies two folders above both sources and build. */
export function version(): string {
  const content: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const known = typeof content === 'object' && content !== null && 'version' in content
  return known ? String(content.version) : 'unknown'
}
