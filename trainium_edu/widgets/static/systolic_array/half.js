// Half-precision numbers, kept as their codes: there are millions of them.

export class HalfCodes extends Uint16Array {}

/** Widen one half-precision code. */
export function fromHalf(code) {
  const sign = code & 0x8000 ? -1 : 1;
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * 2 ** -24 * fraction;
}

/** The value of every code. */
export const HALVES = Float32Array.from({ length: 65536 }, (_, code) => fromHalf(code));

/** Number i of an array of numbers or of half-precision codes. */
export const number = (values, i) => (values instanceof HalfCodes ? HALVES[values[i]] : values[i]);
