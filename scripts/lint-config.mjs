import { allowedImports, allowedOutside, modules, outsideModules } from './import-table.mjs'

/** @typedef {import('./import-table.mjs').Module} Module */

const packages = [...new Set(modules.flatMap(module => module.packages))]

const rules = {
  'typescript/no-floating-promises': 'error',
  'typescript/no-misused-promises': 'error',
  'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  'typescript/no-explicit-any': 'error',
  'typescript/no-non-null-assertion': 'error',
  'typescript/consistent-type-imports': 'error',
  // Exhaustive switches end functions; the compiler knows it and this rule does not.
  'typescript/consistent-return': 'off',
  // RocketMQ's formats separate by control characters.
  'eslint/no-control-regex': 'off',
  // `fc.array` is how fast-check is meant to be used.
  'import/no-named-as-default-member': 'off',
  // A `then` may end in nothing; what matters is that it is awaited or watched.
  'promise/always-return': 'off',
  // `[...set]` before a loop that removes from the set is not useless.
  'unicorn/no-useless-spread': 'off',
  'eslint/max-lines': ['error', { max: 500 }],
  'eslint/max-lines-per-function': ['error', { max: 70 }],
  'eslint/max-params': ['error', { max: 4 }],
  'eslint/max-depth': ['error', { max: 4 }],
  'eslint/no-console': 'error',
  'import/no-cycle': 'error',
  'import/no-default-export': 'error',
}

const outsideGlobals = ['performance', 'setTimeout', 'setInterval', 'setImmediate', 'fetch']

const outsideProperties = [
  { object: 'Date', property: 'now', message: "Take the time from the platform's clock." },
  { object: 'Math', property: 'random', message: 'Take randomness from the platform.' },
  { object: 'process', property: 'env', message: 'Take settings from the options.' },
  { object: 'process', property: 'hrtime', message: "Take the time from the platform's clock." },
  { object: 'crypto', property: 'randomUUID', message: 'Take randomness from the platform.' },
]

/** The text of `.oxlintrc.json`, written from the import table. */
/** @returns {string} */
export function lintConfigText() {
  const config = {
    $schema: './node_modules/oxlint/configuration_schema.json',
    plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'promise', 'node'],
    categories: { correctness: 'error', suspicious: 'error' },
    ignorePatterns: ['dist', 'build', 'data', 'test/interop/clients/**'],
    rules,
    overrides: [
      ...modules.flatMap(module => overrides(module)),
      {
        files: ['scripts/**', 'bench/**', 'test/**', 'src/cli/**'],
        rules: { 'eslint/no-console': 'off' },
      },
      { files: ['**/*.test.ts'], rules: { 'eslint/max-lines-per-function': 'off' } },
      { files: ['*.config.ts'], rules: { 'import/no-default-export': 'off' } },
    ],
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}

/**
 * The module's own rules, and the same for its tests, which may touch the outside.
 *
 * @param {Module} module
 */
function overrides(module) {
  const patterns = importPatterns(module)
  const names = outsideModules.filter(name => !allowedOutside[module.world].includes(name))
  const paths = names
    .flatMap(name => [name, `node:${name}`])
    .map(name => ({ name, message: 'The outside comes in through core/platform.' }))
  const free = module.world === 'all'
  return [
    {
      files: [`${module.folder}/**/*.ts`],
      rules: {
        'eslint/no-restricted-imports': ['error', { paths, patterns }],
        'eslint/no-restricted-globals': free ? 'off' : ['error', ...outsideGlobals],
        'eslint/no-restricted-properties': free ? 'off' : ['error', ...outsideProperties],
      },
    },
    {
      files: ['*.test.ts', 'testing.ts', 'testing/**'].map(name => `${module.folder}/**/${name}`),
      rules: {
        'eslint/no-restricted-imports': ['error', { patterns }],
        'eslint/no-restricted-globals': 'off',
        'eslint/no-restricted-properties': 'off',
      },
    },
  ]
}

/** @param {Module} module */
function importPatterns(module) {
  const allowed = allowedImports(module)
  const others = modules.filter(other => other.name !== module.name)
  const forbidden = others.filter(other => !allowed.includes(other.name))
  const open = others.filter(other => allowed.includes(other.name))
  const forbiddenPackages = packages.filter(name => !module.packages.includes(name))
  return [
    {
      group: forbidden.map(other => `**/${other.name}/**`),
      message: `${module.name} may not import this; see scripts/import-table.mjs.`,
    },
    {
      group: [...open.map(other => `**/${other.name}/**`), ...open.flatMap(faces)],
      message: 'Import another module through its index.ts.',
    },
    {
      group: forbiddenPackages,
      message: `${module.name} may not use this package; see scripts/import-table.mjs.`,
    },
  ].filter(pattern => pattern.group.length > 0)
}

/**
 * Takes the faces out of what was forbidden above them; a folder must be taken out before its file.
 *
 * @param {Module} module
 */
function faces(module) {
  const paths = ['index.ts', ...module.testFaces]
  const folders = paths.filter(path => path.includes('/')).map(path => path.split('/')[0])
  return [...folders, ...paths].map(path => `!**/${module.name}/${path}`)
}
