// One curve over the steps of a run, with a cursor: loss in logarithms, or accuracy in percent.

import { make, shape } from "../shared/elements.js";
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
} from "../training/axes.js";

const HEIGHT = 200;
const PAD = { left: 44, right: 14, top: 30, bottom: 38 };
const MOST_POINTS = 2000; // more of them than pixels

export class Curve {
  /** `kind` is "loss" or "accuracy"; `seek(step)` when the picture is pressed or dragged on. */
  constructor(kind, title, seek) {
    Object.assign(this, { kind, title, points: [] });
    this.still = shape("g");
    this.moving = shape("g");
    this.picture = plotPicture(HEIGHT);
    this.picture.append(this.still, this.moving);
    this.element = make("div", {}, this.picture);
    const drag = (event) => {
      if (event.buttons) seek(Math.round(this.x.back(event.offsetX)) - 1);
    };
    this.picture.addEventListener("pointerdown", drag);
    this.picture.addEventListener("pointermove", drag);
  }
  /** Take the points so far, [steps done, value], and a bound if known; draw all but the cursor. */
  take(points, planned, bound) {
    this.points = points;
    const width = Math.max(200, this.element.clientWidth);
    const box = plotBox(width, HEIGHT, PAD);
    const x = linear(0, planned, box.left, box.right);
    x.back = linear(box.left, box.right, 0, planned);
    const { y, yTicks } = this.scale(box);
    const xTicks = [];
    const every = planned <= 600 ? stepFor(planned, 8) : 10 ** Math.floor(Math.log10(planned));
    for (let s = 0; s <= planned; s += every) xTicks.push([s, String(s)]);
    const axes = { title: this.title, below: "steps", box, x, y, xTicks, yTicks };
    const stride = Math.ceil(points.length / MOST_POINTS);
    const shown = points.filter((_, i) => i % stride === 0 || i === points.length - 1);
    const drawn = shown.map(([step, value]) => [x(step), y(value)]);
    const dots = this.kind === "accuracy" && drawn.length <= 40 ? drawn : [];
    const bounds = bound ? [line(box.left, y(bound), box.right, y(bound), "te-cursor")] : [];
    Object.assign(this, { x, y, box });
    this.picture.setAttribute("width", width);
    this.still.replaceChildren(
      ...drawAxes(axes),
      ...bounds,
      path(curvePath(drawn) || "M0,0", `te-tm-line te-tm-${this.kind}`, { fill: "none" }),
      ...dots.map(([cx, cy]) => shape("circle", { cx, cy, r: 3, class: `te-tm-${this.kind}-dot` })),
    );
  }
  scale({ bottom, top }) {
    if (this.kind === "accuracy") {
      return { y: linear(0, 100, bottom, top), yTicks: [0, 25, 50, 75, 100] };
    }
    const losses = this.points.map(([, loss]) => loss);
    const { low, high, ticks } = lossRange(losses, 0.2, 1.15);
    return { y: logarithmic(low, high, bottom, top), yTicks: ticks };
  }
  /** Put the cursor behind a number of steps, on the last point known there. */
  moveTo(done, said) {
    const { box, x, y } = this;
    const known = this.points.findLast(([step, value]) => step <= done && Number.isFinite(value));
    const parts = [line(x(done), box.top, x(done), box.bottom, "te-cursor")];
    if (known) {
      const [cx, cy] = [x(known[0]), y(known[1])];
      parts.push(shape("circle", { cx, cy, r: 5, class: `te-tm-${this.kind}-dot` }));
    }
    this.moving.replaceChildren(...parts);
    this.picture.setAttribute("aria-label", `${this.title}: ${said(known)}`);
  }
}
