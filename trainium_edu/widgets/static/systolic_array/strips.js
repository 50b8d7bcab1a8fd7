// Pictures over all cycles, with a line at the present one: how many PEs multiply, and one PE's
// sums.

import { cleared, stroke, write } from "../shared/canvas.js";
import { make } from "../shared/elements.js";
import { roundStep } from "../shared/words.js";
import { DOWN, STAYS, WORKS } from "./film.js";
import { number } from "./half.js";
import { four } from "./numbers.js";
import { INK } from "./palette.js";

const HEIGHT = 74;

/** A canvas with a picture that is drawn once, and a line that moves over it. */
class Strip {
  constructor(film, margins) {
    Object.assign(this, { film, ...margins, shown: null });
    this.canvas = make("canvas", { role: "img" });
    this.whole = document.createElement("canvas");
  }
  fit(width, tones) {
    Object.assign(this, { width, tones, shown: null });
    this.step = (width - this.left - this.right) / this.film.cycles;
  }
  xOf(t) {
    return this.left + t * this.step;
  }
  /** The bar of a cycle, with a gap where there is room for one. */
  bar(c, t, y, height) {
    c.fillRect(this.xOf(t), y, Math.max(1, this.step - (this.step > 4 ? 1 : 0)), height);
  }
  draw(t, what, paint) {
    if (this.shown !== what) {
      paint(cleared(this.whole, this.width, HEIGHT));
      this.shown = what;
    }
    const c = cleared(this.canvas, this.width, HEIGHT);
    c.drawImage(this.whole, 0, 0, this.width, HEIGHT);
    const x = this.xOf(t + 0.5);
    stroke(c, x, 12, x, this.bottom, this.tones.mark, 2);
  }
}

/** The share of PEs that multiply, per cycle. */
export class BusyStrip extends Strip {
  constructor(film, seek) {
    super(film, { left: 30, right: 8, bottom: 60 });
    const drag = (event) => seek(Math.floor((event.offsetX - this.left) / this.step));
    this.canvas.addEventListener("pointerdown", drag);
    this.canvas.addEventListener("pointermove", (event) => event.buttons && drag(event));
    const { busy, cycles, per } = film;
    const range = `from ${busy[0]} to at most ${Math.max(...busy)} of ${per} PEs`;
    const overall = `${this.percent} percent over all ${cycles} cycles`;
    this.canvas.setAttribute("aria-label", `Utilisation per cycle: ${range}; ${overall}`);
  }
  get percent() {
    return (100 * this.film.utilisation).toFixed(1);
  }
  show(t) {
    this.draw(t, "busy", (c) => this.paint(c));
  }
  paint(c) {
    const { film, left, step, tones, width } = this;
    const [base, high] = [58, 44];
    c.fillStyle = INK.across;
    for (let t = 0; t < film.cycles; t++) {
      const height = (high * film.busy[t]) / film.per;
      this.bar(c, t, base - height, height);
    }
    const look = { font: "11px sans-serif", colour: tones.ink };
    for (const share of [0, 0.5, 1]) {
      const y = base - high * share;
      stroke(c, left, y + 0.5, width - this.right, y + 0.5, tones.line);
      write(c, `${100 * share}%`, left - 3, y, { ...look, align: "right" });
    }
    const overall = `over all ${film.cycles} cycles ${this.percent} %`;
    write(c, `PEs that multiply, per cycle; ${overall}`, left, 7, look);
    const every = Math.max(1, roundStep(34 / step));
    for (let t = 0; t < film.cycles; t += every) {
      const muted = { ...look, colour: tones.muted, align: "center" };
      write(c, String(t), this.xOf(t + 0.5), base + 9, muted);
    }
  }
}

/** The sums of one PE, and when it multiplies. */
export class PastStrip extends Strip {
  constructor(film) {
    super(film, { left: 6, right: 6, bottom: 68 });
  }
  show(t, { k, m }) {
    this.draw(t, `${k} ${m}`, (c) => this.paint(c, k, m));
  }
  paint(c, k, m) {
    const { film, left, tones, width } = this;
    const [plane, bit] = film.keepsSums ? [film.stays, STAYS] : [film.down, DOWN];
    const cycles = [...Array(film.cycles).keys()];
    const sums = cycles.map((t) => {
      const i = film.at(t, k, m);
      return film.state[i] & bit ? number(plane, i) : null;
    });
    const sizes = sums.filter((sum) => Number.isFinite(sum)).map(Math.abs);
    const most = sizes.reduce((a, b) => Math.max(a, b), 1e-30);
    stroke(c, left, 40.5, width - this.right, 40.5, tones.line);
    sums.forEach((sum, t) => {
      c.fillStyle = tones.soft;
      if (film.has(WORKS, t, k, m)) c.fillRect(this.xOf(t), 13, Math.max(1, this.step), 54);
      if (sum === null) return;
      const high = 27 * Math.max(-1, Math.min(1, sum / most));
      c.fillStyle = sum < 0 ? INK.below : INK.above;
      this.bar(c, t, 40 - Math.max(0, high), Math.max(1.5, Math.abs(high)));
    });
    const look = { font: "11px sans-serif", colour: tones.ink };
    const name = film.keepsSums ? "sum" : "sums";
    write(c, `Its ${name} over all cycles (largest ${four(most)})`, left, 6, look);
    const where = `History of the PE in row ${k}, column ${m}`;
    this.canvas.setAttribute("aria-label", `${where}; its largest sum is ${four(most)}`);
  }
}
