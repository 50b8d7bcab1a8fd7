// Turn points of four dimensions before a viewer: plain functions of plain numbers.

const FAR_W = 2.4; // how far the viewer stands in the fourth dimension, and in the third
const FAR_Z = 6;

/** Where a point of four dimensions is seen: [x, y, depth, size], for a view {yaw, pitch, spin}. */
function seen([x, y, z, w], view) {
  [x, w] = [x * Math.cos(view.spin) - w * Math.sin(view.spin), x * Math.sin(view.spin) + w * Math.cos(view.spin)];
  const four = FAR_W / (FAR_W - w);
  [x, y, z] = [x * four, y * four, z * four];
  [x, z] = [x * Math.cos(view.yaw) + z * Math.sin(view.yaw), z * Math.cos(view.yaw) - x * Math.sin(view.yaw)];
  [y, z] = [y * Math.cos(view.pitch) - z * Math.sin(view.pitch), y * Math.sin(view.pitch) + z * Math.cos(view.pitch)];
  const near = FAR_Z / (FAR_Z - z);
  return [x * near, y * near, z, near];
}

/** The distance of a point from a line through points. */
function distanceTo(points, x, y) {
  let best = Infinity;
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1], [bx, by] = points[i];
    const dx = bx - ax, dy = by - ay;
    const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
    best = Math.min(best, Math.hypot(ax + t * dx - x, ay + t * dy - y));
  }
  return best;
}
