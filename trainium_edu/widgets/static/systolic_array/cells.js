// The numbers in the cells: all that fits into large ones, one number in each small one.

import { createNumberGrid, rgbOf } from "../number_grid.js";
import { ACROSS, DOWN, LEAVES, STAYS } from "./film.js";
import { drawLoads } from "./edges.js";
import { ROOM_FOR_LOADS } from "./ground.js";
import { number } from "./half.js";
import { short, shorter } from "./numbers.js";
import { INK } from "./palette.js";

const GREEN = [0, 158, 115]; // INK.across

/**
 * Draw what stays, over it sums, over them what is fed; `what` is "all", "sums", "stays", "across".
 */
export function drawRoomyCells(c, film, pens, { t, way, what }) {
  const { left, top, cell } = pens.box;
  const [isBig, isRoomy] = [cell >= 52, cell >= 34];
  const all = what === "all";
  const each = (bit, plane, draw) => {
    for (let k = 0; k < film.rows; k++) {
      for (let m = 0; m < film.columns; m++) {
        const i = film.at(t, k, m);
        if (film.state[i] & bit) draw(left + m * cell, top + k * cell, number(plane, i));
      }
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

/** One number in each small cell: written into pixels once a cycle, then moved as a picture. */
export class SmallCells {
  constructor(film) {
    this.film = film;
    this.grid = createNumberGrid(film.rows, film.columns);
    this.shown = new Float32Array(film.per);
    this.isThere = new Uint8Array(film.per);
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
    c.drawImage(this.grid.canvas, x, y, columns * cell, rows * cell);
  }
  write(pens, t, what) {
    const { film, grid, isThere, shown } = this;
    const { palette } = pens;
    if (this.what !== what) {
      const ratio = window.devicePixelRatio || 1;
      grid.fit(pens.box.cell, ratio, pens.size, rgbOf(pens.tones.ink));
      isThere.fill(0);
    }
    Object.assign(this, { cycle: t, what });
    const planes = {
      sums: [film.down, DOWN],
      stays: [film.stays, STAYS],
      across: [film.across, ACROSS],
    };
    const [plane, bit] = planes[what];
    const edge = what === "across" ? GREEN : null;
    for (let i = 0; i < film.per; i++) {
      const place = [Math.floor(i / film.columns), i % film.columns];
      const isNow = film.state[t * film.per + i] & bit;
      const value = number(plane, t * film.per + i);
      if (isNow && !(isThere[i] && Object.is(shown[i], value))) {
        const back = what === "sums" ? palette.rgb[palette.shade(value)] : palette.paper;
        grid.paint(...place, shorter(value), back, edge);
        shown[i] = value;
      } else if (!isNow && isThere[i]) grid.erase(...place);
      isThere[i] = isNow;
    }
    grid.flush();
  }
}
