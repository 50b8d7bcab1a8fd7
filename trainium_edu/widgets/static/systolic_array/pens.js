// The two things that move on the array: a token with a number, and a sum on its colour.

import { short } from "./numbers.js";
import { letterSize } from "./layout.js";

export class Pens {
  /** `box` is a layout (see layout.js); everything is written in its letters. */
  constructor(box, tones, palette) {
    Object.assign(this, { box, tones, palette, size: letterSize(box.cell) });
  }
  font(size = this.size) {
    return `${size}px sans-serif`;
  }
  /** A number in a rim of a colour, or, where there is no room, a dot of it. */
  token(c, x, y, value, colour, { hasText = true, size = this.size } = {}) {
    if (!hasText) {
      c.fillStyle = colour;
      c.fillRect(x - 2.5, y - 2.5, 5, 5);
      return;
    }
    const text = short(value);
    const wide = Math.max(size * 1.6, text.length * size * 0.56 + 6);
    c.fillStyle = this.tones.lane;
    c.strokeStyle = colour;
    c.lineWidth = 1.6;
    c.beginPath();
    c.roundRect(x - wide / 2, y - size * 0.72, wide, size * 1.44, size * 0.7);
    c.fill();
    c.stroke();
    c.lineWidth = 1;
    c.fillStyle = this.tones.ink;
    c.textAlign = "center";
    c.fillText(text, x, y + 0.5);
  }
  /** A sum in a whole cell, or in its lower part; `from` leaves out that share of its left side. */
  sum(c, x, y, value, isWhole = false, from = 0) {
    const { cell } = this.box;
    const high = isWhole ? cell - 4 : cell * 0.34;
    const top = isWhole ? y + 2 : y + cell * 0.62;
    c.fillStyle = this.palette.css(value);
    c.fillRect(x + 3 + from * cell, top, cell * (1 - from) - 6, high);
    c.fillStyle = this.tones.ink;
    c.textAlign = "center";
    c.fillText(short(value), x + (cell * (1 + from)) / 2, top + high / 2 + 0.5);
  }
}
