// Curves that grow while Python trains: loss or accuracy against epochs, one per arm.

import { make } from "../shared/elements.js";
import { line, path } from "../shared/svg.js";
import {
  curvePath,
  drawAxes,
  linear,
  logarithmic,
  lossRange,
  plotBox,
  plotPicture,
  stepFor,
} from "./axes.js";

const HEIGHT = 250;
const PAD = { left: 44, right: 12, top: 30, bottom: 40 };

/** The strokes of an arm, in its curve and in the legend. */
export const strokeOf = (arm) => ({
  stroke: arm.colour,
  "stroke-width": arm.width,
  "stroke-dasharray": arm.dash,
  "stroke-opacity": arm.opacity,
  "stroke-linejoin": "round",
  fill: "none",
});

/** Split Python's float32 numbers into each arm's { loss, accuracy, done }, by name. */
export function readCurves(numbers, names, done) {
  const n = names.length ? numbers.length / (2 * names.length) : 0;
  const part = (k) => numbers.subarray(k * n, (k + 1) * n);
  return Object.fromEntries(
    names.map((name, i) => [name, { loss: part(2 * i), accuracy: part(2 * i + 1), done: done[i] }]),
  );
}

export class LivePlot {
  /** `what` is "loss", in logarithms, or "accuracy", in percent; `point(epoch or null)`. */
  constructor(title, what, point) {
    Object.assign(this, { title, what, epochs: 1 });
    this.picture = plotPicture(HEIGHT);
    this.element = make("div", {}, this.picture);
    this.picture.addEventListener("pointermove", (event) => point(this.epochAt(event)));
    this.picture.addEventListener("pointerleave", () => point(null));
  }
  epochAt(event) {
    const left = this.picture.getBoundingClientRect().left + PAD.left;
    const width = this.picture.clientWidth - PAD.left - PAD.right;
    const epoch = ((event.clientX - left) / width) * this.epochs;
    return epoch < 0.5 || epoch > this.epochs + 0.5 ? null : Math.max(1, Math.round(epoch));
  }
  draw(curves, arms, epochs, hover) {
    this.epochs = epochs;
    const { picture, title } = this;
    const width = Math.max(200, this.element.clientWidth);
    const box = plotBox(width, HEIGHT, PAD);
    const x = linear(0, epochs, box.left, box.right);
    const { y, yTicks } = this.scale(curves, box);
    const xTicks = [];
    for (let e = 0; e <= epochs; e += stepFor(epochs, 8)) xTicks.push([e, String(e)]);
    const axes = { title, below: "epoch", box, x, y, xTicks, yTicks };
    const parts = drawAxes({ ...axes, hasColumns: true });
    for (const arm of arms) {
      const curve = curves[arm.name];
      if (!curve?.done) continue;
      const points = this.valuesOf(curve).map((value, i) => [x(i + 1), y(value)]);
      const d = curvePath(points) + (curve.done === 1 ? "h1" : "");
      parts.push(path(d, `te-tr-line te-tr-${arm.name}`, strokeOf(arm)));
    }
    if (hover) parts.push(line(x(hover), box.top, x(hover), box.bottom, "te-cursor"));
    picture.setAttribute("width", width);
    picture.replaceChildren(...parts);
  }
  /** The values to be drawn; what has no logarithm breaks the line. */
  valuesOf({ loss, accuracy, done }) {
    if (this.what === "accuracy") return Array.from(accuracy.subarray(0, done), (v) => 100 * v);
    return Array.from(loss.subarray(0, done), (v) => (v > 0 ? v : NaN));
  }
  scale(curves, { bottom, top }) {
    if (this.what === "accuracy") {
      return { y: linear(0, 102, bottom, top), yTicks: [0, 20, 40, 60, 80, 100] };
    }
    const all = Object.values(curves).flatMap((curve) => this.valuesOf(curve));
    const { low, high, ticks } = lossRange(all, 0.1, 1.15);
    return { y: logarithmic(low, high, bottom, top), yTicks: ticks };
  }
}
