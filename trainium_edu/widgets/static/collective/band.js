// How busy the links are over time: a row per link, and their mean.

import { frame, stroke, write } from "../shared/canvas.js";
import { Sprites } from "../shared/sprites.js";
import { nsText } from "../shared/words.js";

const LEFT = 52;
const TOP = 16;
const ROWS = 50;
const MEAN = 30;
const FOOT = TOP + ROWS + 4 + MEAN;

export class BandPainter {
  static height = 118;

  constructor() {
    this.whole = new Sprites(); // everything but the line at the present time
  }
  forget() {
    this.whole.clear();
  }
  xOf(ns) {
    return LEFT + ((ns - this.film.begin) / (this.film.total || 1)) * this.inner;
  }
  /** The time at a place in the picture. */
  timeAt(x) {
    return this.film.begin + ((x - LEFT) / this.inner) * this.film.total;
  }
  draw(c, { film, position, wire, tones, width }) {
    Object.assign(this, { film, tones, inner: width - LEFT - 8 });
    const { height } = BandPainter;
    const whole = this.whole.get("", width, height, (p) => this.paint(p));
    c.drawImage(whole, 0, 0, width, height);
    const row = ROWS / film.linkCount;
    for (const k of wire >= 0 ? film.linksOn(wire) : []) {
      frame(c, tones.brand, 1.5, LEFT, TOP + k * row - 0.5, this.inner, row + 1);
    }
    const x = this.xOf(film.timeAt(position));
    stroke(c, x, TOP - 3, x, FOOT, tones.full, 2);
  }
  paint(c) {
    const { film, inner, tones } = this;
    c.fillStyle = tones.soft;
    c.fillRect(LEFT, TOP, inner, ROWS);
    for (let s = 0; s < film.steps; s++) this.paintStep(c, s);
    c.strokeStyle = tones.strong;
    c.strokeRect(LEFT, FOOT - MEAN, inner, MEAN);
    const title = { font: `11px ${tones.font}`, colour: tones.ink, baseline: "top" };
    write(c, "How busy the links are, over time", 2, 1, title);
    const small = { font: `10px ${tones.font}`, colour: tones.muted };
    const right = { ...small, align: "right" };
    write(c, "each link", LEFT - 4, TOP + ROWS / 2, right);
    write(c, "100 %", LEFT - 4, FOOT - MEAN + 5, right);
    write(c, "mean", LEFT - 4, FOOT - 6, right);
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const align = share === 0 ? "left" : share === 1 ? "right" : "center";
      const ns = share * film.total;
      const look = { ...small, align, baseline: "top" };
      write(c, nsText(ns), this.xOf(film.begin + ns), FOOT + 4, look);
    }
  }
  paintStep(c, step) {
    const { film, tones } = this;
    const count = Math.max(1, film.linkCount);
    const row = ROWS / count;
    const x = this.xOf(film.step_ns[step]);
    const wide = this.xOf(film.step_ns[step + 1]) - x;
    const width = Math.max(0.5, wide - (wide > 4 ? 1 : 0));
    let sum = 0;
    c.fillStyle = tones.mark;
    for (let k = 0; k < film.linkCount; k++) {
      const load = film.load(step, k);
      sum += load;
      if (load <= 0.001) continue;
      c.globalAlpha = 0.15 + 0.85 * load;
      c.fillRect(x, TOP + k * row, width, row);
    }
    c.globalAlpha = 1;
    const high = (sum / count) * MEAN;
    c.fillStyle = "#0072B2";
    c.fillRect(x, FOOT - high, width, high);
  }
}
