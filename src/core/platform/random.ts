export interface Random {
  /** A whole number from 0 to `limit - 1`; `limit` is 1 to 2^32. */
  below(limit: number): number
  /** Random bytes, for ids. */
  bytes(count: number): Buffer
}
