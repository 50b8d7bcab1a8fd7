// Arrays too large for numbers: one pixel per PE, coloured by its sum or by whether it multiplies.

import { write } from "../shared/canvas.js";
import { DOWN, WAITS, WORKS } from "./film.js";
import { HALVES } from "./half.js";
import { packed, shadeOf } from "./palette.js";

const GREEN = packed(0, 158, 115);
const PINK = packed(204, 121, 167);

export class Heat {
  constructor(film) {
    this.film = film;
    this.image = new ImageData(film.columns, film.rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.small = new OffscreenCanvas(film.columns, film.rows);
    this.shadeOfCode = Uint8Array.from(HALVES, (value) => shadeOf(value, film.scale));
  }
  draw(c, { box, palette, tones }, t, what) {
    const { film, pixels, shadeOfCode } = this;
    const { columns, down, per, rows, state } = film;
    const paper = packed(...palette.paper);
    for (let i = 0, j = t * per; i < per; i++, j++) {
      const bits = state[j];
      if (what === "works") pixels[i] = bits & WORKS ? GREEN : bits & WAITS ? PINK : paper;
      else pixels[i] = bits & DOWN ? palette.pixels[shadeOfCode[down[j]]] : paper;
    }
    this.small.getContext("2d").putImageData(this.image, 0, 0);
    const { left, top, cell } = box;
    const [wide, high] = [columns * cell, rows * cell];
    c.imageSmoothingEnabled = false;
    c.drawImage(this.small, left, top, wide, high);
    c.strokeStyle = tones.muted;
    c.strokeRect(left, top, wide, high);
    const look = { font: "11px sans-serif", colour: tones.muted, baseline: "alphabetic" };
    write(c, `columns 0 to ${columns - 1}: dst partitions`, left, 12, look);
    c.save();
    c.translate(12, top + high / 2);
    c.rotate(-Math.PI / 2);
    write(c, `rows 0 to ${rows - 1}: SBUF partitions`, 0, 0, { ...look, align: "center" });
    c.restore();
  }
}
