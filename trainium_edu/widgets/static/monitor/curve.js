// One curve over the steps of a run, with a cursor: loss in logarithms, or accuracy in percent.

import { Plot } from "../shared/plot.js";

const MOST_POINTS = 2000; // more of them than pixels

export class Curve extends Plot {
  points = [];

  /** `kind` is "loss" or "accuracy"; `seek(step)` when the picture is pressed or dragged on. */
  constructor(kind, title, seek) {
    super(title, "steps", { height: 200, top: kind === "loss" ? 0 : 100 });
    this.kind = kind;
    const drag = (event) => event.buttons && seek(Math.round(this.stepAt(event.offsetX)) - 1);
    this.picture.addEventListener("pointerdown", drag);
    this.picture.addEventListener("pointermove", drag);
  }
  /** Take the points so far, [steps done, value], and a bound if known; draw all but the cursor. */
  take(points, planned, bound) {
    const { kind } = this;
    this.points = points;
    const values = points.map(([, value]) => value);
    this.layout(planned, values);
    const stride = Math.ceil(points.length / MOST_POINTS);
    const shown = points.filter((_, i) => i % stride === 0 || i === points.length - 1);
    const dots = kind === "accuracy" && shown.length <= 40 ? shown : [];
    this.still.append(
      ...(bound ? [this.level(bound)] : []),
      this.curve(shown, `te-tm-${kind}`),
      ...dots.map((point) => this.dot(point, `te-tm-${kind}`, 3)),
    );
  }
  /** Put the cursor behind a number of steps, on the last point known there. */
  moveTo(done, said) {
    const known = this.points.findLast(([step, value]) => step <= done && Number.isFinite(value));
    const dot = known ? [this.dot(known, `te-tm-${this.kind}`)] : [];
    this.show([this.upright(done), ...dot], said(known));
  }
}
