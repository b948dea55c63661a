/** Java's hash of a string: `31 * hash + unit` over UTF-16 units, wrapping in 32 bits, signed. */
export function javaHash(text: string): number {
  let hash = 0
  for (let index = 0; index < text.length; index++) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0
  }
  return hash
}

/** What a consume queue's unit holds of the property TAGS; 0 for a message without tags. */
export function tagsCodeOf(tags: string | undefined): number {
  return tags === undefined ? 0 : javaHash(tags)
}
