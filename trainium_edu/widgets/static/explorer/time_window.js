// The window of time that every panel shows, where it lies in pixels, and the ticks of its axis.

import { decimals, roundStep } from "../shared/words.js";

export const GUTTER = 122; // pixels left of time 0, the same in every panel
export const RIGHT = 14;
const LEAST_SPAN = 0.1; // ns

export class TimeWindow {
  lo = 0;
  hi = 1;
  end = 1;
  width = 600;

  constructor(changed = () => {}) {
    this.changed = changed;
  }
  get span() {
    return this.hi - this.lo;
  }
  get scale() {
    return this.width / this.span;
  }
  get isWhole() {
    return this.lo <= 0 && this.hi >= this.end;
  }
  /** Width of a panel: names, time, and a margin. */
  get wide() {
    return GUTTER + this.width + RIGHT;
  }
  get right() {
    return GUTTER + this.width;
  }
  x(t) {
    return GUTTER + (t - this.lo) * this.scale;
  }
  t(x) {
    return this.lo + (x - GUTTER) / this.scale;
  }
  /** Where a span lies, cut a little outside of what is seen: canvases dislike far coordinates. */
  clipped(start, end) {
    return [Math.max(GUTTER - 3, this.x(start)), Math.min(this.right + 3, this.x(end))];
  }
  /** Show [lo, hi], kept inside the run. */
  show(lo, hi) {
    const span = Math.min(this.end, Math.max(LEAST_SPAN, hi - lo));
    this.lo = Math.max(0, Math.min(this.end - span, (lo + hi - span) / 2));
    this.hi = this.lo + span;
    this.changed();
  }
  around(t, span = this.span) {
    this.show(t - span / 2, t + span / 2);
  }
  /** Enlarge; what is at `at` stays where it is. */
  zoom(factor, at = (this.lo + this.hi) / 2) {
    const span = Math.min(this.end, Math.max(LEAST_SPAN, this.span / factor));
    const lo = at - ((at - this.lo) / this.span) * span;
    this.show(lo, lo + span);
  }
  pan(ns) {
    this.show(this.lo + ns, this.hi + ns);
  }
  whole() {
    this.show(0, this.end);
  }
  /** Take the end of another timing: the whole run stays whole, a part keeps its length. */
  setEnd(end) {
    const span = this.isWhole ? end : Math.min(this.span, end);
    this.end = end;
    this.lo = Math.max(0, Math.min(this.lo, end - span));
    this.hi = this.lo + span;
  }
}

/** The ticks in a window, at least 90 pixels apart: [ns, text]. */
export function ticks({ lo, hi, scale }) {
  const step = roundStep(90 / scale);
  const [unit, name] = hi >= 1e6 ? [1e6, "ms"] : hi >= 2e3 ? [1e3, "µs"] : [1, "ns"];
  const found = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi * (1 + 1e-12); k++) {
    const text = `${((k * step) / unit).toFixed(decimals(step / unit))} ${name}`;
    found.push([k * step, k ? text : "0"]);
  }
  return found;
}
