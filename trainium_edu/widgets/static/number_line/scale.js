// Where numbers lie on a line from `lo` to `hi`, and how its axis is labelled: pure functions.

import { roundStep } from "../shared/words.js";

/** Round numbers for the axis: [value, text] at steps of 1, 2 or 5 times a power of ten. */
export function axisTicks(lo, hi, width) {
  const step = roundStep((hi - lo) / Math.max(3, width / 90));
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const text = (value) => {
    if (value === 0) return "0";
    if (digits <= 5 && Math.abs(value) < 1e7) return value.toFixed(digits);
    const order = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step));
    return value.toExponential(Math.min(12, Math.max(0, order)));
  };
  const ticks = [];
  for (let k = Math.ceil(lo / step); k * step <= hi && ticks.length < 60; k++) {
    ticks.push([k * step, text(k * step)]);
  }
  return ticks;
}

/** What x becomes when it is moved there: a short decimal that a pixel can tell apart. */
export function snapped(x, { lo, hi }, width) {
  const unit = 10 ** Math.floor(Math.log10((hi - lo) / Math.max(width, 100)));
  const tidy = Number((Math.round(x / unit) * unit).toPrecision(9));
  return Math.abs(tidy) < unit / 2 ? 0 : tidy;
}

/** The window moved just as far as it must to hold x. */
export function holding(x, { lo, hi }) {
  const by = x < lo ? x - lo : x > hi ? x - hi : 0;
  return { lo: lo + by, hi: hi + by };
}

/** The window around x, larger by a factor; null where FP32 has nothing to tell apart or ends. */
export function zoomed({ x, lo, hi }, factor) {
  const half = ((hi - lo) / 2) * factor;
  const least = Math.max(1e-42, 1e-6 * Math.max(Math.abs(x), 1e-30));
  return half < least || half > 3e38 ? null : { lo: x - half, hi: x + half };
}
