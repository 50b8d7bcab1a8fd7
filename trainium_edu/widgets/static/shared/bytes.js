// Bytes from Python: a length, a header in JSON of that length, and plain arrays behind it.

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** Copy what a view of Python's bytes shows, so that any array may start at its beginning. */
export function bytesOf(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
}

/** Numbers that follow each other as pairs. */
export const pairsOf = (numbers) =>
  Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);

/** Return the header with its arrays in place; `types` adds kinds of arrays. */
export function unpack(bytes, types = {}) {
  const kinds = { ...TYPES, ...types };
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  for (const [name, [type, offset, count]] of Object.entries(data.arrays)) {
    data[name] = new kinds[type](bytes.buffer, bytes.byteOffset + 4 + size + offset, count);
  }
  return data;
}
