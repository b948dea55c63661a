/** Languages of clients by their number in binary headers; the position is the number. */
export const LANGUAGES: readonly string[] = [
  'JAVA',
  'CPP',
  'DOTNET',
  'PYTHON',
  'DELPHI',
  'ERLANG',
  'RUBY',
  'OTHER',
  'HTTP',
  'GO',
  'PHP',
  'OMS',
  'RUST',
  'NODE_JS',
]
