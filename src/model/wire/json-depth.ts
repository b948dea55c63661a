const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Whether more than `depthMax` arrays and objects lie inside each other in the JSON text from
 * `start` to `end`. To be asked before anything recursive sees the text. Takes time linear in it
 * and no memory; of bytes that are no JSON the answer does not matter, for nobody reads them.
 */
export function isNestedDeeper(
  bytes: Uint8Array,
  text: { readonly start: number; readonly end: number },
  depthMax: number,
): boolean {
  let depth = 0
  for (let position = text.start; position < text.end; position++) {
    const byte = bytes[position]
    if (byte === QUOTE) {
      position = stringEnd(bytes, position + 1, text.end)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++
      if (depth > depthMax) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth--
    }
  }
  return false
}

/** Position of the quote that ends the string whose text begins at `start`. */
function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  let position = start
  while (position < end && bytes[position] !== QUOTE) {
    position += bytes[position] === BACKSLASH ? 2 : 1
  }
  return position
}
