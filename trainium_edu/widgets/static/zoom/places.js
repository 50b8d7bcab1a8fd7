// Where things stand.  Every level is drawn in the same 1600 × 1000 units and holds a frame of the
// same shape in which the next level is drawn: so the camera can travel without a seam.

import { clamp } from "../shared/time.js";

export const WIDE = 1600;
export const HIGH = 1000;

/** How far `v` is on its way between two values: 0 to 1. */
export const fade = (v, from, to) => clamp((v - from) / (to - from), 0, 1);
export const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];
export const grown = ([x, y, w, h], by) => [x - by, y - by, w + 2 * by, h + 2 * by];
const holds = ([x, y, w, h], px, py) => px >= x && px <= x + w && py >= y && py <= y + h;

// An instance of the cluster, an element of the array; all [x, y, w, h].
export const dotAt = (i, j) => [51.2 + 12 * i, 253 + 12 * j, 9.6, 6];
export const elementAt = (i, j) => [320 + 7.5 * i, 200 + 4.6875 * j, 7.5, 4.6875];
/** Core `n` of a chip: more than two cores stand in two rows. */
export function coreAt(n, cores) {
  const [columns, high] = cores > 2 ? [Math.ceil(cores / 2), 115] : [cores, 240];
  const step = (816 - 1.6 * high) / (columns - 1 || 1);
  return [392 + step * (n % columns), n < columns ? 160 : 285, 1.6 * high, high];
}

/** Per level of zoom.json, its parts by name, for a number of cores; `inside` is the frame of
 *  the next level. */
export function placesOf(levels, { cores }) {
  const places = Object.entries(levels).map(([key, level]) => [key, { ...level.places }]);
  const found = Object.fromEntries(places);
  found.chip.inside = coreAt(0, cores);
  return found;
}

/** Where a level stands on a picture `width` wide when it is enlarged by `f` of a level, 0 to 1. */
export function rectOf({ inside }, f, width) {
  const [px, py, pw] = inside ?? [0, 0, WIDE];
  const scale = (WIDE / pw) ** f;
  const apart = width / WIDE / (1 - pw / WIDE || 1); // to the point that level and frame share
  const [cx, cy] = [px * apart, py * apart];
  return [cx - cx * scale, cy - cy * scale, width * scale, (width * scale * HIGH) / WIDE];
}

/** The part of a level at a point in its units: "inside", the smallest that holds it, or "". */
export function partAt({ inside, ...parts }, x, y) {
  if (inside && holds(grown(inside, 12), x, y)) return "inside";
  const found = Object.entries(parts).filter(([, place]) => holds(place, x, y));
  found.sort(([, a], [, b]) => a[2] * a[3] - b[2] * b[3]);
  return found.length ? found[0][0].replace("hbm2", "hbm") : "";
}
