// An archive of files, not compressed.

/** The checksum of archives. */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

const u16 = (value) => Buffer.from([value & 255, value >> 8]);
const u32 = (value) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)]);

/** `files` are pairs of a name and bytes. */
export function zip(files) {
  const [parts, list] = [[], []];
  let offset = 0;
  for (const [name, bytes] of files) {
    const [label, length] = [Buffer.from(name), u32(bytes.length)];
    const common = [u16(20), u16(0), u16(0), u16(0), u16(0), u32(crc32(bytes)), length, length, u16(label.length), u16(0)];
    const part = Buffer.concat([Buffer.from("PK\x03\x04"), ...common, label, bytes]);
    list.push(Buffer.concat([Buffer.from("PK\x01\x02"), u16(20), ...common, u16(0), u16(0), u16(0), u32(0), u32(offset), label]));
    parts.push(part);
    offset += part.length;
  }
  const entries = Buffer.concat(list);
  const [count, size] = [u16(list.length), u32(entries.length)];
  const end = [Buffer.from("PK\x05\x06"), u16(0), u16(0), count, count, size, u32(offset), u16(0)];
  return Buffer.concat([...parts, entries, ...end]);
}
