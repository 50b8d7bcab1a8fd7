// Where chips, switches and wires stand in the picture, and what lies under a pointer.

import { clamp, ease, mix } from "../shared/time.js";

/** The point at t on a quadratic curve [begin, control, end]. */
export function onCurve([a, c, b], t) {
  const u = 1 - t;
  return [0, 1].map((i) => u * u * a[i] + 2 * u * t * c[i] + t * t * b[i]);
}

/** A curve moved sideways, to the right of the way it runs. */
export function beside(curve, gap) {
  const [a, , b] = curve;
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const long = Math.hypot(dx, dy) || 1;
  return curve.map(([x, y]) => [x - (dy / long) * gap, y + (dx / long) * gap]);
}

/** The number of the curve within 9 pixels of a place, or -1. */
export function nearestCurve(curves, x, y) {
  let best = -1;
  let least = 9;
  curves.forEach((curve, k) => {
    for (let t = 0.05; t < 1; t += 0.05) {
      const [u, v] = onCurve(curve, t);
      const gap = Math.hypot(u - x, v - y);
      if (gap < least) [best, least] = [k, gap];
    }
  });
  return best;
}

export class Plan {
  /** All of a film in one drawing, on its way (`morph` from 0 to 1) from the drawing `before`. */
  constructor(film, layout, { width, height }, before = layout, morph = 1) {
    const t = ease(morph);
    const room = ({ room: share }) => share * Math.min(width, height * 1.16);
    this.film = film;
    this.half = clamp(mix(room(before), room(layout), t), 20, 78) / 2; // of a chip's side
    const edge = this.half + 4;
    const [w, h] = [width - 2 * edge, height - 2 * edge];
    const place = ([x0, y0], [x1, y1]) => [edge + mix(x0, x1, t) * w, edge + mix(y0, y1, t) * h];
    this.places = Array.from({ length: film.chips + film.switches }, (_, i) =>
      place(before.xy[i], layout.xy[i]),
    );
    this.curves = Array.from({ length: film.wireCount }, (_, k) => {
      const [a, b] = [...film.ends(k)].map((chip) => this.places[chip]);
      const [from, to] = [before.bend[k], layout.bend[k]];
      const bend = [mix(from[0], to[0], t) * w, mix(from[1], to[1], t) * h];
      return [a, [0, 1].map((i) => (a[i] + b[i]) / 2 + 2 * bend[i]), b];
    });
  }
  get middles() {
    return this.curves.map((curve) => onCurve(curve, 0.5));
  }
  /** The curve of a directed link: its wire's, moved to the right-hand side. */
  lane(link) {
    const { from, wire } = this.film.link(link);
    const [a, c, b] = this.curves[wire];
    return beside(this.film.ends(wire)[0] === from ? [a, c, b] : [b, c, a], 3.2);
  }
  /** A message's place on its path: at an even pace over the hops, from edge to edge of chips. */
  onPath(path, f) {
    const t = f * path.length;
    const hop = Math.min(path.length - 1, Math.floor(t));
    const curve = this.lane(path[hop]);
    const [[ax, ay], , [bx, by]] = curve;
    const flat = Math.max(Math.abs(bx - ax), Math.abs(by - ay));
    const margin = Math.min(0.42, (this.half + 7) / (flat || 1));
    return onCurve(curve, mix(margin, 1 - margin, t - hop));
  }
  /** The place of a rank's buffer in its chip: { x, y, width, height } from the chip's middle. */
  rowOf(rank) {
    const { half } = this;
    const count = this.film.ranks_per_chip;
    const head = half > 24 ? 20 : 15;
    const height = (2 * half - head - 4) / count;
    return { x: 4 - half, y: head - half + (rank % count) * height, width: 2 * half - 8, height };
  }
  /** A message's place inside a chip, from one rank's buffer to another's. */
  insideChip(m, f) {
    const { film } = this;
    const [x, y] = this.places[film.chipOf(film.msg_src[m])];
    const [from, to] = [film.msg_src[m], film.msg_dst[m]].map((rank) => this.rowOf(rank));
    const along = (from.width * (film.chunksOf(m)[0] + 0.5)) / film.chunks;
    return [x + from.x + along, y + mix(from.y, to.y, f) + from.height / 2];
  }
  /** What is under a pointer: { kind: "chip" or "wire", index }, or null. */
  under(x, y) {
    const covers = ([u, v]) => Math.abs(u - x) <= this.half && Math.abs(v - y) <= this.half;
    const chip = this.places.slice(0, this.film.chips).findIndex(covers);
    if (chip >= 0) return { kind: "chip", index: chip };
    const wire = nearestCurve(this.curves, x, y);
    return wire >= 0 ? { kind: "wire", index: wire } : null;
  }
}
