// Curves that grow while Python trains: loss or accuracy against epochs, one per arm.

import { Plot } from "../shared/plot.js";

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

export class LivePlot extends Plot {
  /** `what` is "loss", in logarithms, or "accuracy", in percent; `point(epoch or null)`. */
  constructor(title, what, point) {
    const top = what === "loss" ? 0 : 100;
    super(title, "epoch", { height: 250, least: 0.1, top, parts: 5, hasColumns: true });
    Object.assign(this, { what, epochs: 1 });
    this.picture.addEventListener("pointermove", ({ offsetX }) => point(this.epochAt(offsetX)));
    this.picture.addEventListener("pointerleave", () => point(null));
  }
  epochAt(x) {
    const epoch = this.stepAt(x);
    return epoch < 0.5 || epoch > this.epochs + 0.5 ? null : Math.max(1, Math.round(epoch));
  }
  draw(curves, arms, epochs, hover, said) {
    this.epochs = epochs;
    const drawn = arms.filter((arm) => curves[arm.name]?.done);
    const values = drawn.map((arm) => this.valuesOf(curves[arm.name]));
    this.layout(epochs, values.flat());
    const parts = drawn.map((arm, k) => {
      const points = values[k].map((value, i) => [i + 1, value]);
      return this.curve(points, `te-tr-line te-tr-${arm.name}`, strokeOf(arm));
    });
    this.show(hover ? [...parts, this.upright(hover)] : parts, said);
  }
  /** The values to be drawn; what has no logarithm breaks the line. */
  valuesOf({ loss, accuracy, done }) {
    if (this.what === "accuracy") return Array.from(accuracy.subarray(0, done), (v) => 100 * v);
    return Array.from(loss.subarray(0, done), (v) => (v > 0 ? v : NaN));
  }
}
