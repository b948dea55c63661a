/**
 * The one table of modules: where each lies, what it may import, and which packages it may use.
 * `.oxlintrc.json` is written from it, `test/tidy/imports.test.ts` holds the sources against it,
 * and the table in ARCHITECTURE.md must say the same.
 *
 * @typedef {object} Module
 * @property {string} name
 * @property {string} folder below the root of the repository
 * @property {string} layer one of `layers`
 * @property {readonly string[]} beside modules of the same layer that it may import
 * @property {readonly string[]} packages npm packages that it may import
 * @property {'none' | 'files' | 'all'} world how much of the outside it may touch directly
 * @property {readonly string[]} testFaces files that other modules' tests may import, beside index.ts
 */

/** From the lowest to the highest: a module may import every module of a lower layer. */
export const layers = ['core', 'model', 'engine', 'doors', 'server', 'cli']

/** Modules that may not import all that lies below them: only these layers. */
/** @type {Readonly<Record<string, readonly string[]>>} */
export const narrowed = { client: ['core', 'model'], cluster: ['core', 'model'] }

const TESTING = { testFaces: ['testing.ts'] }

/**
 * @param {string} layer
 * @param {string} name
 * @param {Partial<Module>} [more]
 * @returns {Module}
 */
function define(layer, name, more = {}) {
  const folder = layer === name ? `src/${name}` : `src/${layer}/${name}`
  return { name, folder, layer, beside: [], packages: [], world: 'none', ...TESTING, ...more }
}

/** @type {readonly Module[]} */
export const modules = [
  define('core', 'base'),
  define('core', 'platform', {
    beside: ['base'],
    packages: ['classic-level', 'pino'],
    world: 'all',
    testFaces: ['testing.ts', 'simulated/index.ts'],
  }),
  define('core', 'config', { beside: ['base'], world: 'files' }),
  define('model', 'message'),
  define('model', 'wire', { beside: ['message'] }),
  define('model', 'filter', { beside: ['message'] }),
  define('model', 'access'),
  define('model', 'schedule', { beside: ['message'] }),
  define('model', 'ports', { beside: ['message', 'schedule'] }),
  define('engine', 'store', { testFaces: ['testing.ts', 'index/testing.ts'] }),
  define('engine', 'timer', { beside: ['store'] }),
  define('engine', 'verify', { beside: ['store', 'timer'] }),
  define('engine', 'broker', { beside: ['store', 'timer'] }),
  define('engine', 'consume', { beside: ['broker'] }),
  define('engine', 'transaction', { beside: ['broker'] }),
  define('doors', 'remoting'),
  define('doors', 'nameserver'),
  define('doors', 'grpc'),
  define('doors', 'http'),
  define('doors', 'push'),
  define('server', 'client', { folder: 'src/client' }),
  define('server', 'cluster', { folder: 'src/cluster', beside: ['client'] }),
  define('server', 'server', { beside: ['client', 'cluster'] }),
  define('cli', 'cli', { packages: ['commander'], world: 'all' }),
]

/**
 * Names of the modules that `module` may import, itself not among them.
 *
 * @param {Module} module
 * @returns {readonly string[]}
 */
export function allowedImports(module) {
  const rank = layers.indexOf(module.layer)
  const below = modules
    .filter(other => layers.indexOf(other.layer) < rank)
    .filter(other => narrowed[module.name]?.includes(other.layer) ?? true)
  return [...below.map(other => other.name), ...module.beside]
}

/** Built-in modules that reach the outside; with and without the prefix `node:`. */
export const outsideModules = [
  'fs',
  'fs/promises',
  'net',
  'tls',
  'dgram',
  'dns',
  'dns/promises',
  'http',
  'https',
  'http2',
  'child_process',
  'worker_threads',
  'cluster',
  'os',
  'process',
  'perf_hooks',
  'timers',
  'timers/promises',
  'readline',
  'readline/promises',
]

/** Those of `outsideModules` that a module of the given world may use. */
/** @type {Readonly<Record<Module['world'], readonly string[]>>} */
export const allowedOutside = { none: [], files: ['fs'], all: outsideModules }

/**
 * What the table in ARCHITECTURE.md says in its last column: the modules beside lower layers.
 *
 * @param {Module} module
 * @returns {string}
 */
export function importCell(module) {
  if (module.name === 'server') return 'all but `cli`'
  if (module.name === 'cli') return '`server` `client`'
  if (module.beside.length === 0) return '–'
  return module.beside.map(name => `\`${name}\``).join(' ')
}
