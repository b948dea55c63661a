/** A column of a table as `to`, which is larger, with all that `from` holds. */
export function grown<Column extends Float64Array | Uint32Array | Uint16Array | Int32Array>(
  from: Column,
  to: Column,
): Column {
  to.set(from)
  return to
}
