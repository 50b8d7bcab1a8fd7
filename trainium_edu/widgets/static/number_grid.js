// Thousands of short numbers in small cells, written straight into pixels: a canvas that spells
// each of them anew takes many times as long.

import { alphabet, eachPlace, inks, packed } from "./number_grid/glyphs.js";

/** Return a colour of the page as [r, g, b]. */
export function rgbOf(css) {
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** A picture of rows × columns numbers; see NumberGrid. */
export const createNumberGrid = (rows, columns) => new NumberGrid(rows, columns);

/** fit() once per size and theme, paint() and erase() what changed, flush(), and draw `canvas`. */
class NumberGrid {
  canvas = document.createElement("canvas");

  constructor(rows, columns) {
    Object.assign(this, { rows, columns });
    this.context = this.canvas.getContext("2d");
    this.#rest();
  }
  fit(cell, ratio, size, colour) {
    this.side = cell * ratio; // of a cell, in device pixels
    this.inset = Math.max(1, Math.round(ratio));
    this.canvas.width = Math.ceil(this.columns * this.side);
    this.canvas.height = Math.ceil(this.rows * this.side);
    this.image = new ImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.inkOn = inks(colour);
    this.glyphs = alphabet(size * ratio);
    this.#touch(0);
    this.#touch(this.rows - 1);
  }
  /** Write the first of some spellings that fits on a colour, with a coloured edge if given. */
  paint(row, column, spellings, back, edge = null) {
    let box = this.#box(row, column);
    this.#touch(row);
    if (edge) {
      this.#fill(box, packed(...edge));
      box = [box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1];
    }
    const ink = this.inkOn(back);
    this.#fill(box, ink[0]);
    const print = (glyph, x) => this.#print(glyph, x, box, ink);
    eachPlace(this.glyphs, spellings, box[0], box[2], print);
  }
  erase(row, column) {
    this.#touch(row);
    this.#fill(this.#box(row, column), 0);
  }
  /** Put what has changed on the canvas. */
  flush() {
    if (this.last < this.first) return;
    const top = Math.floor(this.first * this.side);
    const high = Math.ceil((this.last + 1) * this.side) - top;
    this.context.putImageData(this.image, 0, 0, 0, top, this.canvas.width, high);
    this.#rest();
  }

  #rest() {
    this.first = Infinity; // rows of cells that wait for flush()
    this.last = -1;
  }
  #touch(row) {
    this.first = Math.min(this.first, row);
    this.last = Math.max(this.last, row);
  }
  #box(row, column) {
    const edge = (k) => Math.round(k * this.side);
    const { inset } = this;
    return [
      edge(column) + inset,
      edge(row) + inset,
      edge(column + 1) - inset,
      edge(row + 1) - inset,
    ];
  }
  #fill([x0, y0, x1, y1], pixel) {
    const { width } = this.canvas;
    for (let y = y0; y < y1; y++) this.pixels.fill(pixel, y * width + x0, y * width + x1);
  }
  #print({ wide, high, cover }, x, [, y0, x1, y1], ink) {
    const top = (y0 + y1 - high + 1) >> 1;
    for (let v = Math.max(0, y0 - top); v < high && top + v < y1; v++) {
      const at = (top + v) * this.canvas.width + x;
      for (let u = 0; u < wide && x + u < x1; u++) {
        const covered = cover[v * wide + u];
        if (covered) this.pixels[at + u] = ink[covered];
      }
    }
  }
}
