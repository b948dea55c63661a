/**
 * Largest record that a log may hold, in bytes: the greatest `maxMessageSize` that the option takes,
 * with 128 KiB for topic, properties and the fixed fields.
 *
 * Readers and scans go by this and not by the option: a record is as long as it was when it was
 * accepted, whatever is accepted now. Beyond it a size is damage.
 */
export const RECORD_BYTES_MAX: number = 8 * 1024 * 1024 + 128 * 1024
