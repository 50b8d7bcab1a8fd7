// Turn points of four dimensions before a viewer: plain functions of plain numbers.

const FAR_W = 2.4; // how far the viewer stands in the fourth dimension, and in the third
const FAR_Z = 6;

const turned = (a, b, angle) => [
  a * Math.cos(angle) - b * Math.sin(angle),
  a * Math.sin(angle) + b * Math.cos(angle),
];

/** Where a point of four dimensions is seen: [x, y, depth, size], for a view {yaw, pitch, spin}. */
export function seen([x, y, z, w], { yaw, pitch, spin }) {
  [x, w] = turned(x, w, spin);
  const size = FAR_W / (FAR_W - w);
  [x, y, z] = [x * size, y * size, z * size];
  [z, x] = turned(z, x, yaw);
  [y, z] = turned(y, z, pitch);
  const near = FAR_Z / (FAR_Z - z);
  return [x * near, y * near, z, near];
}

/** The distance of a point from a line through points. */
export function distanceTo(points, x, y) {
  let best = Infinity;
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1];
    const [dx, dy] = [points[i][0] - ax, points[i][1] - ay];
    const along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1);
    const t = Math.max(0, Math.min(1, along));
    best = Math.min(best, Math.hypot(ax + t * dx - x, ay + t * dy - y));
  }
  return best;
}

/** A drawing on its way from `before` (t = 0) to `after` (t = 1), point by point. */
export const between = (before, after, t) =>
  t >= 1 ? after : after.map((v, i) => before[i] + (v - before[i]) * t);
