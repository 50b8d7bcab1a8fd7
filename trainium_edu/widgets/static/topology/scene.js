// A machine as it is seen: where its chips and cables stand, what lies under a pointer.

import { clamp } from "../shared/time.js";
import { between, distanceTo, seen } from "./turning.js";

const NOWHERE = 255;

/** The chips on the way from start to end without cable `cut` (-1: all are there), looked up. */
export function wayOf(scene, ways, start, end, cut) {
  const { begin, chips, most } = scene;
  const at = begin + (((cut + 1) * chips + start) * chips + end) * most;
  return [...ways.subarray(at, at + most)].filter((chip) => chip !== NOWHERE);
}

export const homeOf = ({ view: [yaw, pitch] }) => ({ yaw, pitch, spin: 0 });

export class Seen {
  constructor() {
    Object.assign(this, { chips: [], cables: [], scale: 1 }); // in CSS pixels: [x, y, depth, near]
  }
  /** Place everything for a view, on the way from one drawing to another. */
  place(before, after, grown, view, { width, height }) {
    this.scale = (0.5 * Math.min(height, width)) / 1.94;
    const pixel = (from, to) => {
      const [x, y, depth, near] = seen(between(from, to, grown), view);
      return [width / 2 + x * this.scale, height / 2 + y * this.scale, depth, near];
    };
    this.chips = after.chips.map((to, i) => pixel(before.chips[i], to));
    this.cables = after.cables.map((cable, k) =>
      cable.map((to, i) => pixel(before.cables[k][i], to)),
    );
  }
  /** Half the side of a chip: nearer ones are larger. */
  halfOf(chip) {
    return clamp(this.scale * 0.115 * this.chips[chip][3] ** 1.4, 9, 24);
  }
  /** The middle of each cable, where its button lies. */
  get middles() {
    return this.cables.map((points) => points[6]);
  }
  /** From the farthest to the nearest chip. */
  get chipsByDepth() {
    return [...this.chips.keys()].sort((a, b) => this.chips[a][2] - this.chips[b][2]);
  }
  /** From the farthest to the nearest cable; those that `isFirst` picks are drawn last. */
  cablesByDepth(isFirst) {
    const depth = (points) => points.reduce((sum, p) => sum + p[2], 0);
    const order = this.cables.map((points, k) => depth(points) + (isFirst(k) ? 1e3 : 0));
    return [...order.keys()].sort((a, b) => order[a] - order[b]);
  }
  /** The chip or else the cable at a place, -1 each where there is none. */
  under(x, y) {
    const covers = (i) => {
      const [u, v] = this.chips[i];
      return Math.max(Math.abs(u - x), Math.abs(v - y)) <= this.halfOf(i) + 2;
    };
    const chip = this.chipsByDepth.findLast(covers) ?? -1;
    if (chip >= 0) return { chip, wire: -1 };
    const gaps = this.cables.map((points) => distanceTo(points, x, y));
    return { chip, wire: gaps.indexOf(Math.min(...gaps, 9)) };
  }
}
