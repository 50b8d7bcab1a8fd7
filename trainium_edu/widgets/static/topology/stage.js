// The machine's picture: a canvas, buttons over its chips and cables, and the hand that turns it.

import { cleared } from "../shared/canvas.js";
import { focusable, make } from "../shared/elements.js";
import { ARROWS, answerKey } from "../shared/keys.js";
import { Spots } from "../shared/spots.js";
import { chipName } from "../shared/words.js";
import { watchPointer } from "./grip.js";
import { paint } from "./painter.js";
import { Seen } from "./scene.js";
import { cableName } from "./words.js";

const NAME = "The machine: arrow keys turn it";
const CHIPS = "Chips: arrow keys move, the way is shown below, Enter starts there";
const CABLES = "Cables: arrow keys move, Enter cuts or mends";

export class Stage {
  /** `chips` and `wires` have the listeners of their buttons; for the rest see `watchPointer`. */
  constructor({ chips, wires, turn, hover, press, leave }) {
    this.seen = new Seen();
    this.canvas = make("canvas", { role: "img" });
    this.chips = new Spots(CHIPS, "te-spot te-chip", chips);
    this.wires = new Spots(CABLES, "te-spot te-wire", wires);
    const turns = ([key, [x, y]]) => [key, () => turn(0.12 * x, 0.12 * y)];
    const keys = Object.fromEntries(Object.entries(ARROWS).map(turns));
    const keydown = (event) => event.target === this.element && answerKey(event, keys);
    const look = { class: "te-topo-stage", tabindex: 0, role: "group", title: null };
    const parts = [this.canvas, this.wires.element, this.chips.element];
    this.element = make("div", focusable(NAME, { ...look, on: { keydown } }), ...parts);
    const under = (x, y) => this.seen.under(x, y);
    watchPointer(this.element, { under, turn, hover, press, leave });
  }
  /** Take another machine. */
  offer(scene) {
    this.chips.offer(Array.from({ length: scene.chips }, (_, i) => chipName(i, scene.ranks)));
    this.wires.offer(scene.wires.map(cableName));
  }
  nameCables({ wires }, cut) {
    [...this.wires.element.children].forEach((spot, k) => {
      const can = k === cut ? "cut: Enter mends it" : "Enter cuts it";
      spot.setAttribute("aria-label", `${cableName(wires[k])}, ${can}`);
    });
  }
  fit(width, tones) {
    this.tones = tones;
    this.size = { width, height: Math.round(Math.min(width * 0.74, 520)) };
    this.element.style.width = `${width}px`;
    this.element.style.height = `${this.size.height}px`;
  }
  draw({ wires }, { before, layout, grown, view }, { way, cut, pointed, about }) {
    const { seen, size, tones } = this;
    seen.place(before, layout, grown, view, size);
    this.chips.place(seen.chips, (i) => seen.halfOf(i));
    this.wires.place(seen.middles, () => 9);
    const pair = (a, b) => `${Math.min(a, b)},${Math.max(a, b)}`;
    const hops = new Set(way.slice(1).map((chip, i) => pair(way[i], chip)));
    const onWay = new Set([...wires.keys()].filter((k) => hops.has(pair(...wires[k]))));
    const c = cleared(this.canvas, size.width, size.height);
    paint(c, seen, { way, onWay, cut, pointed, notes: layout.notes, tones });
    this.canvas.setAttribute("aria-label", about);
  }
}
