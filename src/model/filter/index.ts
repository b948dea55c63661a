/** Which messages a consumer wants. */
export { matchesTagsCode, parseTagExpression, type TagFilter } from './tag-filter.ts'
