// Numbers in small places: pure.

import { minus, plain } from "../shared/words.js";

/** Spell a number in at most five characters. */
export function short(value) {
  if (Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size === Infinity) return `${sign}∞`;
  if (size === 0) return "0";
  if (size >= 9999.5 || size < 0.005) return sign + minus(size.toExponential(0).replace("e+", "e"));
  if (size >= 99.5) return sign + size.toFixed(0);
  return sign + String(Number(size.toFixed(size >= 9.95 ? 1 : 2)));
}

/** Spell a number in ever fewer characters, for a cell to choose from. */
export function shorter(value) {
  if (!Number.isFinite(value) || Math.abs(value) >= 9999.5) return [short(value)];
  return [short(value), ...[2, 1, 0].map((places) => minus(value.toFixed(places)))];
}

const digits = (count) => (value) =>
  Number.isFinite(value) ? minus(plain(value, count)) : short(value);

export const four = digits(4);
export const long = digits(6);

/** The number as a factor: negative ones in brackets. */
export const bracket = (value) => (value < 0 ? `(${long(value)})` : long(value));
