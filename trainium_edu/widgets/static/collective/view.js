// The collective's pictures: their sizes, what is drawn on them, and what is under the pointer.

import { cleared, readTones } from "../shared/canvas.js";
import { make } from "../shared/elements.js";
import { Spots } from "../shared/spots.js";
import { chipName } from "../shared/words.js";
import { BandPainter } from "./band.js";
import { BufferPainter } from "./buffers.js";
import { Plan } from "./plan.js";
import { StagePainter } from "./stage.js";
import { wireName } from "./words.js";

const CHIPS = "Chips: arrow keys move, the history is below";
const WIRES = "Links: arrow keys move, the history is below";

/** The sizes of the three pictures on a page of a width: beside each other where there is room. */
export function sizesFor(width, ranks) {
  const isWide = width >= 760;
  const stage = isWide ? Math.round(width * 0.55) : width;
  const height = Math.round(Math.min(stage * 0.86, 470));
  const rows = 60 + ranks * (ranks <= 8 ? 56 : 22);
  const below = { width, height: Math.round(Math.min(height, rows)) };
  const cells = isWide ? { width: width - stage - 12, height } : below;
  const band = { width, height: BandPainter.height };
  return { isWide, stage: { width: stage, height }, cells, band };
}

export class View {
  /** `pick({ kind, index })` when a chip or a wire is pointed at, `seek(ns)` on the band. */
  constructor({ pick, seek }) {
    const painters = { stage: new StagePainter(), cells: new BufferPainter() };
    this.painters = { ...painters, band: new BandPainter() };
    const canvas = (kind) => make("canvas", { role: "img", class: kind });
    this.canvases = { stage: canvas(), cells: canvas(), band: canvas("te-coll-band") };
    const spots = (label, kind) => {
      const choose = (index) => pick({ kind, index });
      const on = { focus: choose, click: choose };
      return new Spots(label, `te-spot te-${kind}`, on);
    };
    this.chips = spots(CHIPS, "chip");
    this.wires = spots(WIRES, "wire");
    const parts = [this.canvases.stage, this.wires.element, this.chips.element];
    const pointermove = (event) => {
      const box = this.stage.getBoundingClientRect();
      const found = this.plan.under(event.clientX - box.left, event.clientY - box.top);
      if (found) pick(found);
    };
    this.stage = make("div", { class: "te-coll-stage", on: { pointermove } }, ...parts);
    const cells = make("div", "te-coll-cells", this.canvases.cells);
    this.body = make("div", "te-coll-body", this.stage, cells);
    const { band } = this.canvases;
    const drag = (event) => seek(this.painters.band.timeAt(event.offsetX));
    band.addEventListener("pointermove", (event) => event.buttons && drag(event));
    band.addEventListener("pointerdown", (event) => {
      band.setPointerCapture(event.pointerId);
      drag(event);
    });
  }
  /** Show another film. */
  setFilm(film) {
    this.film = film;
    const upTo = (count) => [...Array(count).keys()];
    this.chips.offer(upTo(film.chips).map((chip) => chipName(chip, film.ranks_per_chip)));
    this.wires.offer(upTo(film.wireCount).map((wire) => wireName(film, wire)));
  }
  /** Draw everything anew next time: the look or the place of things has changed. */
  forget() {
    for (const painter of Object.values(this.painters)) painter.forget();
  }
  /** Take the page's width and colours. */
  fit(root) {
    this.tones = readTones(root);
    this.pageWidth = root.clientWidth;
    this.sizes = sizesFor(Math.max(320, Math.floor(root.clientWidth) - 2), this.film.ranks);
    this.body.classList.toggle("te-coll-wide", this.sizes.isWide);
    const { width, height } = this.sizes.stage;
    Object.assign(this.stage.style, { width: `${width}px`, height: `${height}px` });
    this.forget();
  }
  /** Place chips and wires for a drawing, on its way from another. */
  place(layout, before = layout, morph = 1) {
    const { film } = this;
    this.layout = layout;
    this.isMoving = morph < 1;
    this.plan = new Plan(film, layout, this.sizes.stage, before, morph);
    this.chips.place(this.plan.places, () => this.plan.half);
    this.wires.place(this.plan.middles, () => 9);
  }
  draw(position, picked, isHeatNow) {
    const { film, isMoving, layout, plan, tones } = this;
    const paint = (name, what) => {
      const { width, height } = this.sizes[name];
      const c = cleared(this.canvases[name], width, height);
      this.painters[name].draw(c, { film, position, tones, width, height, ...what });
    };
    const heatOf = (link) =>
      isHeatNow ? film.heatNow(link, position) : film.heatSoFar(link, position);
    const indexOf = (kind) => (picked?.kind === kind ? picked.index : -1);
    paint("stage", { plan, picked, heatOf, notes: layout.notes, isMoving });
    paint("cells", { chip: indexOf("chip") });
    paint("band", { wire: indexOf("wire") });
  }
}
