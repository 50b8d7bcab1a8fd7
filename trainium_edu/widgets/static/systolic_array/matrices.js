// W, X and dst as matrices beside the array: which of their numbers is where, cycle by cycle.

import { cleared, frame, write } from "../shared/canvas.js";
import { make } from "../shared/elements.js";
import { short } from "./numbers.js";
import { Operands } from "./operands.js";
import { INK } from "./palette.js";

const GAP = 20;
const TITLE = 17;

/** Lay three matrices of {high, wide} side by side, or the last below the others, in a width. */
export function placeMatrices([w, x, dst], width) {
  const room = width - 2 * GAP - 6;
  const beside = Math.floor(room / (w.wide + x.wide + dst.wide));
  const isBelow = beside < 12;
  const below = Math.floor((room + GAP) / Math.max(w.wide + x.wide, dst.wide));
  const cell = Math.max(9, Math.min(26, isBelow ? below : beside));
  const second = 1 + w.wide * cell + GAP;
  const third = isBelow ? 1 : second + x.wide * cell + GAP;
  const under = isBelow ? 2 * TITLE + w.high * cell + 6 : TITLE;
  const places = [1, second, third].map((left, i) => [left, i < 2 ? TITLE : under]);
  const height = Math.max(TITLE + w.high * cell, under + dst.high * cell) + 4;
  return { cell, places, height };
}

export class Matrices {
  /**
   * `onPoint()` when another element is pointed at, `onFollow(m, n)` when one of dst is pressed.
   */
  constructor(film, label, { onPoint, onFollow }) {
    Object.assign(this, { film, label, onPoint, onFollow, pointed: null, lit: "" });
    this.operands = new Operands(film);
    const { k, m, n } = film;
    const { sums } = this.operands;
    this.all = {
      W: { name: "W [K, M]", high: k, wide: m, values: film.w },
      X: { name: "X [K, N]", high: k, wide: n, values: film.x },
      dst: { name: "dst = Wᵀ X  [M, N]", high: m, wide: n, values: sums },
    };
    const pointermove = (event) => event.pointerType === "mouse" && this.point(this.under(event));
    const pointerdown = (event) => {
      const found = this.under(event);
      if (found?.name === "dst") onFollow(Math.floor(found.i / n), found.i % n);
      this.point(found);
    };
    const on = { pointermove, pointerdown, pointerleave: () => this.point(null) };
    this.canvas = make("canvas", { role: "img", style: "flex: 0 0 auto", on });
  }
  fit(width, tones, palette) {
    const matrices = Object.values(this.all);
    const { cell, places, height } = placeMatrices(matrices, width);
    matrices.forEach((matrix, i) => ([matrix.x, matrix.y] = places[i]));
    Object.assign(this, { cell, width, height, tones, palette });
  }
  cornerOf({ x, y, wide }, i) {
    return [x + (i % wide) * this.cell, y + Math.floor(i / wide) * this.cell];
  }
  /** The PEs that hold the element under the pointer. */
  holders(t) {
    return this.pointed ? this.operands.holders(t, this.pointed.name, this.pointed.i) : [];
  }
  under({ offsetX, offsetY }) {
    for (const [name, { x, y, high, wide }] of Object.entries(this.all)) {
      const column = Math.floor((offsetX - x) / this.cell);
      const row = Math.floor((offsetY - y) / this.cell);
      const isIn = row >= 0 && row < high && column >= 0 && column < wide;
      if (isIn) return { name, i: row * wide + column };
    }
    return null;
  }
  point(next) {
    if (next?.name === this.pointed?.name && next?.i === this.pointed?.i) return;
    this.pointed = next;
    this.onPoint();
  }
  /** Frame a matrix that the lesson's words point at; "" for none. */
  light(name) {
    this.lit = name;
    this.onPoint();
  }
  draw(t, picked, element) {
    const { all, film, operands, pointed, tones } = this;
    const c = cleared(this.canvas, this.width, this.height);
    operands.fill(t);
    const where = operands.whereabouts(t);
    for (const [name, matrix] of Object.entries(all))
      this.drawMatrix(c, t, name, matrix, where[name]);
    if (element) this.frame(c, "dst", element.m * film.n + element.n, INK.below);
    for (const [name, i] of Object.entries(operands.elementsIn(t, picked))) {
      this.frame(c, name, i, tones.mark);
    }
    if (pointed) this.frame(c, pointed.name, pointed.i, tones.ink);
    if (pointed?.name === "dst") this.frameFactors(c, pointed.i);
    const done = `${operands.finished} of ${film.m * film.n} elements of dst are finished`;
    this.canvas.setAttribute("aria-label", `W, X and dst as matrices: ${this.label}. ${done}`);
  }
  drawMatrix(c, t, name, matrix, where) {
    const { cell, tones } = this;
    const { x, y, high, wide } = matrix;
    write(c, matrix.name, x, y - 9, { font: "600 12px sans-serif", colour: tones.ink });
    c.font = `${Math.max(7, Math.min(12, cell * 0.5))}px sans-serif`;
    c.textAlign = "center";
    for (let i = 0; i < high * wide; i++) this.drawElement(c, t, name, matrix, i, where[i]);
    const [colour, width] = name === this.lit ? [tones.mark, 3] : [tones.line, 1];
    frame(c, colour, width, x - 0.5, y - 0.5, wide * cell + 1, high * cell + 1);
  }
  /** `here` is where the element is in this cycle (see Operands), 0 if nowhere in the array. */
  drawElement(c, t, name, matrix, i, here) {
    const { cell, operands, palette, tones } = this;
    const [x, y] = this.cornerOf(matrix, i);
    const isSum = name === "dst";
    const isThere = !isSum || operands.landed[i];
    const isInUse = name === operands.staying && here & 1;
    const value = matrix.values[i];
    c.fillStyle = isSum && isThere ? palette.css(value) : isInUse ? tones.soft : tones.lane;
    c.fillRect(x, y, cell, cell);
    if (here && !isInUse) {
      const [inset, width] = cell < 18 ? [1, 1.2] : [2.5, 2];
      const colour = isSum ? INK.above : here & 2 || name === "W" ? INK.wait : INK.across;
      frame(c, colour, width, x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
    }
    const isStrong = here || (isSum && operands.isFinished(i));
    c.fillStyle = isStrong ? tones.ink : tones.muted;
    const running = () => short(operands.runningSum(t, here - 1));
    const text = isThere ? short(value) : here ? running() : "·";
    c.fillText(text, x + cell / 2, y + cell / 2 + 0.5);
  }
  frame(c, name, i, colour) {
    frame(c, colour, 2, ...this.cornerOf(this.all[name], i), this.cell, this.cell);
  }
  /** A column of W and a column of X make an element of dst. */
  frameFactors(c, i) {
    const { W, X } = this.all;
    const { k, n } = this.film;
    const height = k * this.cell;
    const { ink } = this.tones;
    frame(c, ink, 1, W.x + Math.floor(i / n) * this.cell, W.y, this.cell, height);
    frame(c, ink, 1, X.x + (i % n) * this.cell, X.y, this.cell, height);
  }
}
