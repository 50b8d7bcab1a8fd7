// The array itself: drawn for a cycle and what is under way to the next one; a PE may be picked.

import { cleared, frame } from "../shared/canvas.js";
import { focusable, make } from "../shared/elements.js";
import { ARROWS, answerKey } from "../shared/keys.js";
import { clamp } from "../shared/time.js";
import { SmallCells, drawRoomyCells } from "./cells.js";
import { drawQueues, drawResults } from "./edges.js";
import { Ground } from "./ground.js";
import { Heat } from "./heat.js";
import { layoutFor, peAt } from "./layout.js";
import { INK } from "./palette.js";
import { Pens } from "./pens.js";

const KEYS = "Arrow keys choose a processing element, Enter follows its sum";

export class Stage {
  /** `onPick({k, m})` when a PE is pointed at, `onFollow()` when its sum is to be followed. */
  constructor(film, label, { onPick, onFollow }) {
    Object.assign(this, { film, onPick, onFollow });
    this.picked = { k: Math.min(1, film.rows - 1), m: Math.min(1, film.columns - 1) };
    this.what = film.isLarge ? "sums" : "all";
    if (film.isLarge) this.heat = new Heat(film);
    else Object.assign(this, { ground: new Ground(film), small: new SmallCells(film) });
    const name = `The array: ${label}. ${KEYS}`;
    const on = {
      pointermove: (event) => event.pointerType === "mouse" && this.pick(this.under(event)),
      pointerdown: (event) => this.press(event),
      keydown: (event) => this.onKey(event),
    };
    this.canvas = make("canvas", focusable(name, { title: null, tabindex: 0, role: "img", on }));
    this.element = make("div", "te-array-stage", this.canvas);
    const isNarrow = film.isLarge || film.columns <= 12;
    const width = isNarrow ? 520 : Math.min(860, 34 + (film.columns + 3) * 24);
    this.element.style.setProperty("--te-array-stage", `${width}px`);
  }
  under({ offsetX, offsetY }) {
    return peAt(this.box, this.film, offsetX, offsetY);
  }
  pick(pe) {
    if (!pe || (pe.k === this.picked.k && pe.m === this.picked.m)) return;
    this.picked = pe;
    this.onPick();
  }
  press(event) {
    const pe = this.under(event);
    if (!pe) return;
    this.pick(pe);
    this.onFollow();
  }
  onKey(event) {
    const { rows, columns } = this.film;
    const step = ([dm, dk]) => {
      const { k, m } = this.picked;
      this.pick({ k: clamp(k + dk, 0, rows - 1), m: clamp(m + dm, 0, columns - 1) });
    };
    const moves = Object.entries(ARROWS).map(([key, way]) => [key, () => step(way)]);
    answerKey(event, { Enter: this.onFollow, ...Object.fromEntries(moves) });
  }
  /** Take the width of the page and the colours; draw everything anew next time. */
  fit(tones, palette) {
    this.box = layoutFor(this.element.clientWidth, this.film);
    this.pens = new Pens(this.box, tones, palette);
    this.ground?.forget();
    this.small?.forget();
  }
  /** Show other numbers in the cells. */
  show(what) {
    this.what = what;
  }
  /** `step` is where the followed result is in this cycle, if it is in the array. */
  draw(position, { step, holders }) {
    const { box, film, pens } = this;
    const t = Math.floor(position);
    const c = cleared(this.canvas, box.width, box.height);
    if (this.heat) {
      this.heat.draw(c, pens, t, this.what);
      return this.outline(c, this.picked, pens.tones.mark, Math.max(box.cell, 7));
    }
    const way = position - t;
    this.ground.draw(t, pens);
    c.drawImage(this.ground.canvas, 0, 0, box.width, box.height);
    c.textBaseline = "middle";
    drawQueues(c, film, pens, t, way);
    const isRoomy = box.cell >= 34;
    const what = this.what === "all" && !isRoomy ? "sums" : this.what;
    if (isRoomy || film.keepsSums) drawRoomyCells(c, film, pens, { t, way, what });
    else this.small.draw(c, pens, { t, way, what });
    drawResults(c, film, pens, t, way);
    if (step) this.outline(c, { k: step.k, m: step.column }, INK.below, box.cell - 3);
    this.outline(c, this.picked, pens.tones.mark, box.cell);
    for (const pe of holders) this.outline(c, pe, pens.tones.ink, box.cell - 6);
  }
  outline(c, { k, m }, colour, size) {
    const { left, top, cell } = this.box;
    const more = (size - cell) / 2;
    frame(c, colour, 2, left + m * cell - more, top + k * cell - more, size, size);
  }
}
