// Where things stand.  Every level is drawn in the same 1600 × 1000 units and holds a frame of the
// same shape in which the next level is drawn: so the camera can travel without a seam.

import { clamp } from "../shared/time.js";

export const WIDE = 1600;
export const HIGH = 1000;

/** How far `v` is on its way between two values: 0 to 1. */
export const fade = (v, from, to) => clamp((v - from) / (to - from), 0, 1);
export const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];
export const grown = ([x, y, w, h], by) => [x - by, y - by, w + 2 * by, h + 2 * by];
/** The points of a straight line. */
export const way = (x0, y0, x1, y1) => [
  [x0, y0],
  [x1, y1],
];
const holds = ([x, y, w, h], px, py) => px >= x && px <= x + w && py >= y && py <= y + h;

// An instance of the cluster, a chip of the instance, an element of the array; all [x, y, w, h].
export const dotAt = (i, j) => [51.2 + 12 * i, 253 + 12 * j, 9.6, 6];
export const chipAt = (i, j) => [255 + 300 * i, 118 + 210 * j, 190, 118.75];
export const elementAt = (i, j) => [320 + 7.5 * i, 200 + 4.6875 * j, 7.5, 4.6875];
/** Core `n` of a chip: more than two cores stand in two rows. */
export function coreAt(n, cores) {
  const [columns, high] = cores > 2 ? [Math.ceil(cores / 2), 115] : [cores, 240];
  const step = (816 - 1.6 * high) / (columns - 1 || 1);
  return [392 + step * (n % columns), n < columns ? 160 : 285, 1.6 * high, high];
}

/** Per level, its parts by name; `inside` is the frame of the next level. */
export const PLACES = {
  ultracluster: {
    inside: dotAt(62, 25),
    network: [50, 110, 1500, 70],
    instances: [40, 240, 1520, 620],
  },
  instance: {
    inside: chipAt(1, 1),
    chips: [235, 98, 1130, 790],
    links: [130, 30, 1340, 940],
    network: [1490, 300, 80, 400],
  },
  chip: {
    inside: coreAt(0, 2),
    cores: [380, 148, 840, 264],
    hbm: [110, 130, 190, 740],
    hbm2: [1300, 130, 190, 740],
    dma: [392, 470, 816, 150],
    cc: [392, 690, 816, 110],
    links: [60, 40, 1480, 920],
  },
  neuroncore: {
    inside: [120, 130, 512, 320],
    tensor: [120, 130, 512, 320],
    psum: [760, 130, 200, 320],
    vector: [1100, 130, 380, 92],
    scalar: [1100, 244, 380, 92],
    gpsimd: [1100, 358, 380, 92],
    sbuf: [120, 560, 1360, 170],
    dma: [120, 830, 1360, 80],
  },
  tensor_engine: {
    inside: elementAt(64, 64),
    array: [320, 200, 960, 600],
    rows: [90, 200, 210, 600],
    columns: [320, 80, 960, 100],
    sums: [320, 820, 960, 110],
  },
  element: {
    inside: null,
    weight: [330, 230, 300, 130],
    times: [560, 480, 130, 130],
    plus: [930, 480, 130, 130],
  },
};

/** The places of a chip with so many cores. */
export function placesOf({ cores }) {
  return { ...PLACES, chip: { ...PLACES.chip, inside: coreAt(0, cores) } };
}

/** Where a level stands on a picture `width` wide when it is enlarged by `f` of a level, 0 to 1. */
export function rectOf(key, f, width, places = PLACES) {
  const [px, py, pw] = places[key].inside ?? [0, 0, WIDE];
  const scale = (WIDE / pw) ** f;
  const apart = width / WIDE / (1 - pw / WIDE || 1); // to the point that level and frame share
  const [cx, cy] = [px * apart, py * apart];
  return [cx - cx * scale, cy - cy * scale, width * scale, (width * scale * HIGH) / WIDE];
}

/** The part of a level at a point in its units: "inside", the smallest that holds it, or "". */
export function partAt(key, x, y, places = PLACES) {
  const { inside, ...parts } = places[key];
  if (inside && holds(grown(inside, 12), x, y)) return "inside";
  const found = Object.entries(parts).filter(([, place]) => holds(place, x, y));
  found.sort(([, a], [, b]) => a[2] * a[3] - b[2] * b[3]);
  return found.length ? found[0][0].replace("hbm2", "hbm") : "";
}
