/** The check of a stopped store: reads everything, changes nothing, names what is damaged. */
export type { Finding, FindingKind } from './findings.ts'
export {
  type VerifyOptions,
  type VerifyProgress,
  type VerifySummary,
  verifyStore,
} from './verify-store.ts'
