// Spans too narrow to be seen one by one: the more of a pixel they cover, the stronger its colour.
// So a run of many thousand instructions costs as much to draw as one that fills the screen.

import { GUTTER } from "./time_window.js";

const STEPS = 8;

export class Shades {
  cover = new Float32Array(0);
  lowest = 0;
  highest = -1;

  begin(width) {
    if (this.cover.length < width + 2) this.cover = new Float32Array(width + 2);
    this.lowest = width;
    this.highest = -1;
  }
  /** Cover from x0 to x1, pixels from the left edge of the plot. */
  add(x0, x1) {
    const { cover } = this;
    x0 = Math.max(0, x0);
    x1 = Math.min(cover.length - 1, x1);
    if (x1 <= x0) return;
    const a = Math.floor(x0);
    const b = Math.floor(x1);
    this.lowest = Math.min(this.lowest, a);
    this.highest = Math.max(this.highest, b);
    cover[a] -= x0 - a;
    for (let p = a; p < b; p++) cover[p] += 1;
    cover[b] += x1 - b;
  }
  /** Return runs of equal shade as [from, to, shade in (0, 1]], and forget them. */
  take() {
    const runs = [];
    let from = this.lowest;
    let shade = 0;
    for (let p = this.lowest; p <= this.highest + 1; p++) {
      const covered = p > this.highest || this.cover[p] < 1e-6 ? 0 : this.cover[p];
      const now = Math.min(STEPS, Math.ceil(covered * STEPS));
      this.cover[p] = 0;
      if (now === shade) continue;
      if (shade) runs.push([from, p, shade / STEPS]);
      [from, shade] = [p, now];
    }
    this.highest = -1;
    return runs;
  }
  paint(c, y, height, colour, alpha = 1) {
    c.fillStyle = colour;
    for (const [from, to, shade] of this.take()) {
      c.globalAlpha = alpha * (0.25 + 0.75 * shade);
      c.fillRect(GUTTER + from, y, to - from, height);
    }
    c.globalAlpha = 1;
  }
}
