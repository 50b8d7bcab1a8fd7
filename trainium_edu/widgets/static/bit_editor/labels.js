// Which labels of an axis have room beside each other: pure.

import { clamp } from "../shared/time.js";

/**
 * Place texts [x, text], the most important first: [middle, text] of those that keep `gap` pixels
 * from every earlier one.  Each is moved so that it stays within the width.
 */
export function placeLabels(texts, width, perLetter, gap) {
  const spots = [];
  const placed = [];
  for (const [x, text] of texts) {
    const half = (text.length * perLetter) / 2;
    const middle = clamp(x, half, width - half);
    const [left, right] = [middle - half, middle + half];
    if (spots.some(([a, b]) => left < b + gap && right > a - gap)) continue;
    spots.push([left, right]);
    placed.push([middle, text]);
  }
  return placed;
}
