// What stands still during a cycle: cells and their colours, lines, labels, weights that wait.
// Only the cells that have changed are drawn again.

import { fitCanvas, stroke, write } from "../shared/canvas.js";
import { STAYS, WAITS, WORKS } from "./film.js";
import { number } from "./half.js";
import { INK } from "./palette.js";

export const ROOM_FOR_LOADS = 60; // pixels of a cell that has room for the weight that waits

export class Ground {
  constructor(film) {
    this.film = film;
    this.canvas = document.createElement("canvas");
    this.drawn = new Uint8Array(film.per); // the state that each cell shows
    this.cycle = -1;
  }
  forget() {
    this.cycle = -1;
  }
  draw(t, { box, palette, tones }) {
    if (this.cycle === t) return;
    const { film } = this;
    const isFresh = this.cycle < 0;
    this.cycle = t;
    const { width, height } = box;
    const c = fitCanvas(this.canvas, width, height);
    if (isFresh) c.clearRect(0, 0, width, height);
    for (let i = 0; i < film.per; i++) {
      const bits = film.state[t * film.per + i] & (STAYS | WORKS | WAITS);
      if (!isFresh && !film.keepsSums && bits === this.drawn[i]) continue;
      this.drawn[i] = bits;
      const isSum = film.keepsSums && bits & STAYS;
      const plain = bits & WORKS ? tones.soft : tones.lane;
      c.fillStyle = isSum ? palette.css(number(film.stays, t * film.per + i)) : plain;
      this.drawCell(c, i, bits, box);
    }
    if (isFresh) this.drawLines(c, box, tones);
  }
  drawCell(c, i, bits, { left, top, cell }) {
    const x = left + (i % this.film.columns) * cell;
    const y = top + Math.floor(i / this.film.columns) * cell;
    c.fillRect(x + 1, y + 1, cell - 1, cell - 1);
    if (!(bits & WAITS) || cell >= ROOM_FOR_LOADS) return;
    const corner = x + cell - 1;
    c.fillStyle = INK.wait;
    c.beginPath();
    c.moveTo(corner, y + 1);
    c.lineTo(corner, y + 1 + cell * 0.22);
    c.lineTo(corner - cell * 0.22, y + 1);
    c.fill();
  }
  drawLines(c, { left, top, cell }, tones) {
    const { rows, columns, keepsSums, keepsMoving } = this.film;
    const [right, bottom] = [left + columns * cell, top + rows * cell];
    const every = cell < 22 ? 4 : 1;
    const look = { font: "11px sans-serif", colour: tones.muted };
    const [down, side] = keepsSums ? ["m", "n"] : [keepsMoving ? "n" : "m", "k"];
    for (let k = 0; k <= rows; k++) {
      const y = top + k * cell;
      stroke(c, left, y + 0.5, right, y + 0.5, tones.line);
      if (k < rows && k % every === 0) write(c, k ? String(k) : `${side}=0`, 2, y + cell / 2, look);
    }
    for (let m = 0; m <= columns; m++) {
      const x = left + m * cell;
      stroke(c, x + 0.5, top, x + 0.5, bottom, tones.line);
      if (m === columns || m % every) continue;
      const text = m || cell < 30 ? String(m) : `${down} = 0`;
      write(c, text, x + cell / 2, keepsSums ? 8 : top - 8, { ...look, align: "center" });
    }
  }
}
