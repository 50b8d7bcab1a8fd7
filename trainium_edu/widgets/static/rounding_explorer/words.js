// What the rounding explorer says: pure.

import { many, minus, plain } from "../shared/words.js";

export const spaced = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
export const tidy = (value) => minus(plain(value, 9));
export const percent = (p) => `${(100 * p).toFixed(2)} %`;
export const signed = (v) => `${v < 0 ? "−" : "+"}${percent(Math.abs(v))}`;

/** The sentences under the picture: the odds, what the throws gave, what nearest-even does. */
export function sentences(gap, { p, goesUp }, n, up) {
  const wide = gap.upper - gap.lower;
  const way = `${percent(p)} of the way up, so it goes up with probability ${percent(p)}`;
  const odds = `The gap is ${tidy(wide)} wide; x lies ${way}.`;
  const always = `Nearest-even is off by ${signed(goesUp ? 1 - p : -p)} of the gap, every time.`;
  if (!n) return `${odds} ${always}`;
  const throws = n > 1 ? `${spaced(n)} throws` : many(n, "throw");
  const chance = `(chance alone gives about ±${percent(Math.sqrt((p * (1 - p)) / n))})`;
  const off = `off by ${signed(up / n - p)} of the gap ${chance}`;
  return `${odds} Mean of ${throws}: ${tidy(gap.lower + (wide * up) / n)}, ${off}. ${always}`;
}
