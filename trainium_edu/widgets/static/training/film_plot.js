// One curve of a film: the axes are drawn once, the curve grows with the position.

import { make, shape } from "../shared/elements.js";
import { line, path, words } from "../shared/svg.js";
import { mix } from "../shared/time.js";
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

const HEIGHT = 210;
const PAD = { left: 48, right: 14, top: 30, bottom: 40 };

/** The first values up to a fractional position, as [position, value]. */
export function upTo(values, position) {
  const whole = Math.floor(position);
  const points = Array.from(values.slice(0, whole + 1), (value, i) => [i, value]);
  if (position > whole) {
    points.push([position, mix(values[whole], values[whole + 1], position - whole)]);
  }
  return points;
}

export class FilmPlot {
  /** `isLoss` scales by logarithms; otherwise the axis goes from 0 to `top`. */
  constructor({ title, colour, say, isLoss = false, top = 1, guess = null }) {
    Object.assign(this, { title, colour, say, isLoss, top, guess });
    this.picture = plotPicture(HEIGHT);
    this.still = shape("g");
    this.moving = shape("g");
    this.picture.append(this.still, this.moving);
    this.element = make("div", {}, this.picture);
    this.setData([], 1);
  }
  setData(values, perPass) {
    Object.assign(this, { values, perPass });
    this.layout();
  }
  layout() {
    const { isLoss, guess, perPass, title } = this;
    const width = Math.max(220, this.element.clientWidth);
    const box = plotBox(width, HEIGHT, PAD);
    const { low, high, ticks } = lossRange(isLoss ? this.values : [], 0.2, 1.15);
    const last = Math.max(1, this.values.length - 1);
    const x = linear(0, last, box.left, box.right);
    const y = isLoss
      ? logarithmic(low, high, box.bottom, box.top)
      : linear(0, this.top, box.bottom, box.top);
    const quarters = [0, 1, 2, 3, 4].map((q) => (q * this.top) / 4);
    const passes = last / perPass;
    const xTicks = [];
    for (let pass = 0; pass <= passes; pass += stepFor(passes, 10)) {
      xTicks.push([pass * perPass, String(pass)]);
    }
    const yTicks = isLoss ? ticks : quarters;
    const below = "passes over the training images";
    const parts = drawAxes({ title, below, box, x, y, xTicks, yTicks });
    if (guess) {
      const at = y(guess.at);
      parts.push(line(box.left, at, box.right, at, "te-tf-guess"));
      parts.push(words(box.right, at - 5, guess.words, "te-small", "end"));
    }
    this.scale = { x, y };
    this.picture.setAttribute("width", width);
    this.still.replaceChildren(...parts);
  }
  /** Draw the curve up to a fractional frame. */
  draw(position) {
    const { x, y } = this.scale;
    const points = upTo(this.values, position);
    const drawn = points.map(([frame, value]) => [x(frame), y(value)]);
    const end = points.findLastIndex(([, value]) => Number.isFinite(value));
    const kind = `te-tf-line ${this.colour}`;
    const parts = [path(curvePath(drawn) || "M0,0", kind, { fill: "none" })];
    if (end >= 0) {
      const [cx, cy] = drawn[end];
      parts.push(shape("circle", { cx, cy, r: 5, class: `te-tf-dot ${this.colour}` }));
    }
    this.moving.replaceChildren(...parts);
    const said = end >= 0 ? this.say(points[end][1]) : "none yet";
    this.picture.setAttribute("aria-label", `${this.title}: ${said}`);
  }
}
