// The numbers in the cells: all that fits into large ones, one number in each small one.

import { fitCanvas } from "../shared/canvas.js";
import { ACROSS, DOWN, LEAVES, STAYS } from "./film.js";
import { drawLoads } from "./edges.js";
import { ROOM_FOR_LOADS } from "./ground.js";
import { number } from "./half.js";
import { short, shorter } from "./numbers.js";
import { INK } from "./palette.js";

/**
 * Draw what stays, over it sums, over them what is fed; `what` is "all", "sums", "stays", "across".
 */
export function drawRoomyCells(c, film, pens, { t, way, what }) {
  const { left, top, cell } = pens.box;
  const [isBig, isRoomy] = [cell >= 52, cell >= 34];
  const all = what === "all";
  const each = (bit, plane, draw) => {
    for (let j = 0, i = t * film.per; j < film.per; j++, i++) {
      const [k, m] = [Math.floor(j / film.columns), j % film.columns];
      if (film.state[i] & bit) draw(left + m * cell, top + k * cell, number(plane, i));
    }
  };
  const falling = (isWhole, from) => (x, y, value) =>
    pens.sum(c, x, y + way * cell, value, isWhole, from);
  const sums = all || what === "sums";
  if ((all && isBig) || what === "stays" || (film.keepsSums && sums)) {
    const [right, low] = !all ? [0.5, 0.5] : film.keepsSums ? [0.28, 0.25] : [0, 0];
    const isCorner = all && !film.keepsSums;
    c.fillStyle = pens.tones.ink;
    c.textAlign = isCorner ? "left" : "center";
    each(STAYS, film.stays, (x, y, value) => {
      const place = isCorner ? [x + 5, y + pens.size * 0.8] : [x + cell * right, y + cell * low];
      c.fillText(short(value), ...place);
    });
  }
  if (all && cell >= ROOM_FOR_LOADS && !film.keepsSums) drawLoads(c, film, pens, t, way);
  if (!film.keepsSums && sums) each(DOWN, film.down, falling(!all, 0));
  each(LEAVES, film.leaving, falling(false, all ? 0.5 : 0));
  if (film.keepsSums && all) {
    each(DOWN, film.down, (x, y, value) => {
      const place = [x + cell * 0.28, y + cell * (0.8 + way)];
      pens.token(c, ...place, value, INK.wait, { hasText: isBig });
    });
  }
  if (all || what === "across") {
    const [right, low] = all ? [0.66, 0.42] : [0.5, 0.5];
    each(ACROSS, film.across, (x, y, value) => {
      const place = [x + cell * (right + way), y + cell * low];
      pens.token(c, ...place, value, INK.across, { hasText: isRoomy || !all });
    });
  }
}

/** One number in each small cell: written where it changes, then moved as a picture. */
export class SmallCells {
  constructor(film) {
    this.film = film;
    this.canvas = document.createElement("canvas");
    this.forget();
  }
  forget() {
    Object.assign(this, { cycle: -1, what: "" });
  }
  draw(c, pens, { t, way, what }) {
    const { rows, columns } = this.film;
    const { left, top, cell } = pens.box;
    if (this.cycle !== t || this.what !== what) this.write(pens, t, what);
    const x = left + (what === "across" ? way * cell : 0);
    const y = top + (what === "sums" ? way * cell : 0);
    c.drawImage(this.canvas, x, y, columns * cell, rows * cell);
  }
  write(pens, t, what) {
    const { film } = this;
    const { across, columns, down, per, rows, state, stays } = film;
    const { cell } = pens.box;
    const c = fitCanvas(this.canvas, columns * cell, rows * cell);
    if (this.what !== what) {
      c.clearRect(0, 0, columns * cell, rows * cell);
      this.shown = Array.from({ length: per }, () => null);
    }
    Object.assign(this, { cycle: t, what });
    Object.assign(c, { font: pens.font(), textAlign: "center", textBaseline: "middle" });
    const wide = c.measureText("0").width; // of a digit; a point is half as wide
    const room = cell - 2;
    const isFit = (text) => (text.length - 0.5 * text.includes(".")) * wide <= room;
    const planes = { sums: [down, DOWN], stays: [stays, STAYS], across: [across, ACROSS] };
    const [plane, bit] = planes[what];
    for (let i = 0; i < per; i++) {
      const value = state[t * per + i] & bit ? number(plane, t * per + i) : null;
      if (Object.is(value, this.shown[i])) continue;
      this.shown[i] = value;
      const [x, y] = [(i % columns) * cell, Math.floor(i / columns) * cell];
      c.clearRect(x, y, cell, cell);
      if (value === null) continue;
      const rim = what === "across" ? 1 : 0;
      c.fillStyle = INK.across;
      if (rim) c.fillRect(x + 1, y + 1, room, room);
      c.fillStyle = what === "sums" ? pens.palette.css(value) : pens.tones.lane;
      c.fillRect(x + 1 + rim, y + 1 + rim, room - 2 * rim, room - 2 * rim);
      c.fillStyle = pens.tones.ink;
      c.fillText(shorter(value).find(isFit) ?? "…", x + cell / 2, y + cell / 2 + 0.5);
    }
  }
}
