// One curve of a film: the axes are drawn once, the curve grows with the position.

import { Plot } from "../shared/plot.js";
import { words } from "../shared/svg.js";
import { mix } from "../shared/time.js";
import { roundStep } from "../shared/words.js";

/** The first values up to a fractional position, as [position, value]. */
export function upTo(values, position) {
  const whole = Math.floor(position);
  const points = Array.from(values.slice(0, whole + 1), (value, i) => [i, value]);
  if (position > whole) {
    points.push([position, mix(values[whole], values[whole + 1], position - whole)]);
  }
  return points;
}

export class FilmPlot extends Plot {
  /** Without a `top` it is a loss; `guess` has a value to mark, `at`, and its `words`. */
  constructor({ title, colour, say, top = 0, guess = null }) {
    super(title, "passes over the training images", { top });
    Object.assign(this, { colour, say, guess });
  }
  setData(values, perPass) {
    Object.assign(this, { values, perPass });
    this.fit();
  }
  fit() {
    const { guess, perPass, values } = this;
    const last = Math.max(1, values.length - 1);
    const every = perPass * Math.max(1, roundStep(last / perPass / 10));
    this.layout(last, values, { every, unit: perPass });
    if (!guess) return;
    const said = words(this.box.right, this.y(guess.at) - 5, guess.words, "te-small", "end");
    this.still.append(this.level(guess.at), said);
  }
  /** Draw the curve up to a fractional frame. */
  draw(position) {
    const points = upTo(this.values, position);
    const end = points.findLast(([, value]) => Number.isFinite(value));
    const parts = [this.curve(points, this.colour)];
    if (end) parts.push(this.dot(end, this.colour));
    this.show(parts, end ? this.say(end[1]) : "none yet");
  }
}
