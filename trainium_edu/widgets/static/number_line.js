// The number line: drag x, see where each format puts it.  Every value shown comes from Python
// (trainium_edu.numerics); this page places it and reports where the learner dragged.

import { holding, snapped, zoomed } from "./number_line/scale.js";
import { Stage } from "./number_line/stage.js";
import { Asker } from "./shared/asking.js";
import { checkbox, field } from "./shared/controls.js";
import { button, make } from "./shared/elements.js";
import { countDrawing, onChange, onSize, shows } from "./shared/life.js";

const HINT =
  "Drag anywhere on the lines. Keys: ← → move x (Shift: fine), Page Up/Down next number, + − zoom.";

class NumberLine {
  constructor(model, host) {
    Object.assign(this, { model, host });
    this.formats = model.get("formats"); // [{name, label, split, colour, about}]
    this.asker = new Asker(model, "view", 1500); // x, lo, hi, shown, width
    this.stage = new Stage(this);
    const { element } = this.stage;
    const look = { class: "te te-nl", "data-lm-suppress-shortcuts": "true" };
    host.append(make("div", look, this.top(), this.choice(), element, this.tools()));
    this.stops = [
      onChange(model, { answer: () => this.answered(), view: () => this.fromPython() }),
      onSize(() => Math.abs(element.clientWidth - this.stage.width) > 1 && this.draw(), element),
      () => this.asker.dispose(),
    ];
    this.draw();
  }
  get view() {
    return this.asker.values;
  }

  // ---- the page
  top() {
    const lookUp = (text) => this.model.send({ do: "type", text });
    const name = "x, a number such as 0.1 or 1/3; Enter looks it up";
    this.typed = field(name, lookUp, { class: "te-field te-nl-x", size: 14 });
    this.message = make("span", { class: "te-nl-message", role: "status" });
    const presets = this.model.get("presets");
    return make(
      "div",
      "te-row te-nl-bar",
      make("span", "te-nl-label", "x ="),
      this.typed,
      button("Look up the number typed", "Go", () => lookUp(this.typed.value)),
      make("span", "te-hint", "or try"),
      ...presets.map((text) => button(`Try x = ${text}`, text, () => lookUp(text))),
      this.message,
    );
  }
  choice() {
    const shown = () => this.formats.filter((_, i) => this.boxes[i].checked).map((f) => f.name);
    const show = () => this.ask({ shown: shown() });
    this.boxes = this.formats.map((f) => checkbox(`Show ${f.label}`, show));
    const chips = this.formats.map((f, i) => {
      const look = { class: "te-nl-chip", style: `--c:${f.colour}`, title: f.about };
      return make("label", look, this.boxes[i], make("i"), f.label);
    });
    const label = make("span", "te-nl-label", "Formats");
    const group = { class: "te-row te-nl-bar", role: "group", "aria-label": "Formats shown" };
    return make("div", group, label, ...chips);
  }
  tools() {
    return make(
      "div",
      "te-row te-nl-bar",
      button("Slide the window to smaller numbers", "◀", () => this.slide(-0.5)),
      button("Zoom out", "− zoom out", () => this.zoom(2)),
      button("Zoom in around x", "+ zoom in", () => this.zoom(0.5)),
      button("Slide the window to larger numbers", "▶", () => this.slide(0.5)),
      button("Show the first view again", "reset", () => this.model.send({ do: "reset" })),
      make("span", "te-hint", HINT),
    );
  }

  // ---- moving
  ask(change) {
    this.asker.ask(change);
    this.showX();
  }
  zoom(factor) {
    const window = zoomed(this.view, factor);
    if (window) this.ask(window);
  }
  slide(share) {
    const by = share * (this.view.hi - this.view.lo);
    this.ask({ lo: this.view.lo + by, hi: this.view.hi + by });
  }
  moveTo(to) {
    const x = snapped(to, this.view, this.stage.width);
    this.ask({ x, ...holding(x, this.view) });
  }

  // ---- drawing
  showX() {
    const text = this.stage.drawNeedle(this.model.get("answer"));
    if (document.activeElement !== this.typed) this.typed.value = text;
  }
  draw() {
    const answer = this.model.get("answer");
    this.stage.draw(answer, this.formats);
    const { width } = this.stage;
    if (Math.abs(this.view.width - width) > 50) setTimeout(() => this.ask({ width }), 0);
    this.message.textContent = answer.message;
    this.formats.forEach((f, i) => (this.boxes[i].checked = this.view.shown.includes(f.name)));
    this.showX();
    countDrawing(this.host);
    this.asker.answered();
  }
  answered() {
    if (!this.stage.isDragging) this.asker.take();
    this.draw();
  }
  /** Python moved x by itself; an answer to our own question comes with `answer`. */
  fromPython() {
    if (this.asker.waiting !== null || this.stage.isDragging) return;
    this.asker.take();
    this.draw();
  }
}

export default shows(NumberLine);
