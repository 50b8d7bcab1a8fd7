// The rounding explorer: drag x between its neighbours, throw the dice.  Python draws the random
// bits and counts; this page draws, and shows x's exact odds while it is dragged.

import { Picture } from "./rounding_explorer/picture.js";
import { bitTable } from "./rounding_explorer/table.js";
import { inGap, stepFrom } from "./rounding_explorer/carry.js";
import { sentences, tidy } from "./rounding_explorer/words.js";
import { field, menu } from "./shared/controls.js";
import { button, make } from "./shared/elements.js";
import { isPlain, take } from "./shared/keys.js";
import { onChange, onSize, onceAFrame, shows, tell } from "./shared/life.js";
import { clamp } from "./shared/time.js";

const NO_TRIALS = { n: 0, up: 0, random_bits: [], went_up: [] };

class RoundingExplorer {
  constructor(model, el) {
    Object.assign(this, { model, place: model.get("place"), isDragging: false });
    this.picture = new Picture();
    this.listen();
    this.message = make("div", { class: "te-re-message", role: "status" });
    this.words = make("div", { class: "te-re-words", role: "status" });
    this.bits = make("div", "te-re-bits");
    const parts = [this.bar(), this.message, this.picture.svg, this.words, this.bits];
    this.root = make("div", { class: "te te-re", "data-lm-suppress-shortcuts": "true" }, ...parts);
    el.append(this.root);
    this.draw = onceAFrame(() => this.drawNow());
    const takePlace = () => {
      this.place = model.get("place");
      this.draw();
    };
    const actions = {
      tally: () => {
        this.drawNow();
        this.picture.fly(this.x.p, model.get("tally").went_up);
      },
      gap: takePlace,
      place: () => (this.isDragging ? this.draw() : takePlace()),
      "message format": this.draw,
    };
    this.stops = [
      onChange(model, actions),
      onSize(([{ contentRect }]) => {
        this.width = contentRect.width || this.width; // the page takes it away for a moment
        this.draw();
      }, this.root),
      this.draw.cancel,
      () => this.picture.stopFlight(),
    ];
    this.drawNow();
  }
  get gap() {
    return this.model.get("gap");
  }
  get x() {
    return inGap(this.gap, this.place);
  }
  bar() {
    const { model } = this;
    const look = { class: "te-button te-re-button" };
    const send = (name, text, content) => button(name, text, () => model.send(content()), look);
    const rounds = (name, text, n) => send(name, text, () => ({ do: "round", n }));
    const goTo = () => ({ do: "type", text: this.typed.value });
    const name = "x, a positive number; Enter goes there";
    const change = (format) => tell(model, { format });
    this.format = menu("Format", model.get("formats"), change, { class: "te-re-select" });
    this.typed = field(name, () => model.send(goTo()), { size: 12, class: "te-re-typed" });
    return make(
      "div",
      "te-row te-re-bar",
      make("label", {}, "format ", this.format),
      make("label", {}, "x = ", this.typed),
      send("Go to the number typed", "Go", goTo),
      make("span", "te-re-gap"),
      make("strong", {}, "Throw the dice"),
      rounds("Throw once", "1 ×", 1),
      rounds("Throw ten times", "10 ×", 10),
      rounds("Throw ten thousand times", "10,000 ×", 10000),
      send("Forget the throws", "forget", () => ({ do: "forget" })),
    );
  }

  // ---- moving x
  listen() {
    const { svg, needle } = this.picture;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.isDragging = true;
      svg.setPointerCapture(event.pointerId);
      needle.focus({ preventScroll: true });
      this.drag(event);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => this.isDragging && this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      svg.addEventListener(end, () => (this.isDragging = false));
    }
    needle.addEventListener("keydown", (event) => {
      const to = isPlain(event) ? stepFrom(this.place, this.gap.ticks, event) : undefined;
      if (to === undefined) return;
      this.moveTo(to);
      take(event);
    });
  }
  drag(event) {
    const { ticks } = this.gap;
    const coarse = ticks / Math.min(ticks, 1024); // a pixel is no finer than this
    this.moveTo(Math.round((this.picture.shareAt(event) * ticks) / coarse) * coarse);
  }
  moveTo(to) {
    const place = clamp(Math.round(to), 0, this.gap.ticks - 1);
    if (place === this.place) return;
    this.place = place;
    tell(this.model, { place });
    this.draw();
  }

  drawNow() {
    const { model, gap, place, x } = this;
    const isThere = model.get("place") === place; // else the throws belong to the place before
    const tally = isThere ? model.get("tally") : NO_TRIALS;
    this.picture.draw(Math.max(300, this.width ?? this.root.clientWidth), gap, place, x, tally);
    if (document.activeElement !== this.typed) this.typed.value = tidy(x.value);
    this.format.value = model.get("format");
    this.message.textContent = model.get("message");
    this.words.textContent = sentences(gap, x, tally.n, tally.up);
    this.bits.replaceChildren(...bitTable(gap, place, tally));
    this.root.dataset.throws = String(tally.n);
  }
}

export default shows(RoundingExplorer);
