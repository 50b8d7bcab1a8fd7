// Plots of a training run: scales, axes, curves.

import { make, shape } from "./elements.js";
import { line, path, words } from "./svg.js";
import { roundStep } from "./words.js";

const ROUND = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
const FINE = [0.5, 1, 1.5, 2, 2.5, 3, 4, 5]; // of a short range

/** A function from values in [low, high] to pixels in [from, to]. */
export const linear = (low, high, from, to) => (v) =>
  from + ((v - low) / (high - low)) * (to - from);

/** The same in logarithms; what lies below `low` is shown there. */
export function logarithmic(low, high, from, to) {
  const scale = linear(Math.log(low), Math.log(high), from, to);
  return (v) => scale(Math.log(Math.max(v, low)));
}

/** The range of a loss: from `least` to 3 at the least, with a margin; and its round numbers. */
export function lossRange(values, least, margin) {
  const real = [...values].filter((v) => Number.isFinite(v) && v > 0);
  const low = Math.min(least, ...real) / margin;
  const high = Math.max(3, ...real) * margin;
  return { low, high, ticks: (high < 4 * low ? FINE : ROUND).filter((t) => t >= low && t <= high) };
}

/** "M1,2L3,4" through points; where a value is not a number the line is broken. */
export function curvePath(points) {
  let pen = "M";
  return points
    .map(([x, y]) => {
      const isReal = Number.isFinite(y);
      const part = isReal ? `${pen}${x.toFixed(1)},${y.toFixed(1)}` : "";
      pen = isReal ? "L" : "M";
      return part;
    })
    .join("");
}

/** A plot over steps: what stands still is drawn by `layout`, what moves over it by `show`. */
export class Plot {
  /** Losses go by logarithms; other values from 0 to `top`. */
  constructor(title, below, { height = 210, top = 0 }) {
    Object.assign(this, { title, below, height, top });
    this.still = shape("g");
    this.moving = shape("g");
    this.picture = shape("svg", { class: "te-plot", height, role: "img" });
    this.picture.append(this.still, this.moving);
    this.element = make("div", {}, this.picture);
    this.layout(1, []);
  }
  /** Draw axes over so many steps, for values: ticks each `every` steps, named by their `unit`. */
  layout(steps, values, { every = Math.max(1, roundStep(steps / 8)), unit = 1, least = 0.2 } = {}) {
    const { below, height, title, top: most } = this;
    const width = Math.max(200, this.element.clientWidth);
    const [left, right, top, bottom] = [48, width - 14, 30, height - 40];
    const { low, high, ticks } = lossRange(values, least, 1.15);
    const x = linear(0, steps, left, right);
    const y = most ? linear(0, most, bottom, top) : logarithmic(low, high, bottom, top);
    Object.assign(this, { x, y, box: { left, right, top, bottom } });
    this.stepAt = linear(left, right, 0, steps);
    const quarters = [0, 1, 2, 3, 4].map((k) => (k * most) / 4);
    const across = (most ? quarters : ticks).flatMap((value) => [
      this.level(value, "te-grid"),
      words(left - 7, y(value) + 4, String(value), "te-small", "end"),
    ]);
    const stops = Array.from({ length: 1 + Math.floor(steps / every) }, (_, k) => k * every);
    this.picture.setAttribute("width", width);
    this.still.replaceChildren(
      words(left - 40, 16, title, "te-title"),
      ...across,
      ...stops.map((s) => words(x(s), bottom + 17, String(s / unit), "te-small", "middle")),
      words((left + right) / 2, height - 5, below, "te-small", "middle"),
      path(`M${left},${top}V${bottom}H${right}`, "te-axis"),
    );
  }
  /** The curve through [step, value]; what is no number breaks it. */
  curve(points, kind) {
    const drawn = points.map(([step, value]) => [this.x(step), this.y(value)]);
    const d = curvePath(drawn);
    return path(d ? d + (points.length === 1 ? "h1" : "") : "M0,0", `te-curve ${kind}`);
  }
  dot([step, value], kind, r = 5) {
    return shape("circle", { cx: this.x(step), cy: this.y(value), r, class: `te-dot ${kind}` });
  }
  /** A line through the plot, upright at a step or level at a value. */
  upright(step) {
    return line(this.x(step), this.box.top, this.x(step), this.box.bottom, "te-cursor");
  }
  level(value, kind = "te-cursor") {
    return line(this.box.left, this.y(value), this.box.right, this.y(value), kind);
  }
  show(parts, said) {
    this.moving.replaceChildren(...parts);
    this.picture.setAttribute("aria-label", `${this.title}: ${said}`);
  }
}
