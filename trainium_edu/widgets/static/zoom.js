// A zoom from a cluster to one multiply-accumulate; all figures and texts come from Python.

import { readTones } from "./shared/canvas.js";
import { slider } from "./shared/controls.js";
import { GLYPHS, button, focusable, make } from "./shared/elements.js";
import { answerKey } from "./shared/keys.js";
import { countDrawing, onChange, onSize, onTheme, tell } from "./shared/life.js";
import { clamp, glide, wantsNoMotion } from "./shared/time.js";
import { drawPicture } from "./zoom/picture.js";
import { WIDE, partAt } from "./zoom/places.js";
import { Figures, createLadder } from "./zoom/rungs.js";

const BEAT = 1400; // ms
const LEVEL_OF_A_FLIGHT = 2200; // ms
const NARROW = 820; // pixels
const BORDER = 1;
const smooth = (t) => t * t * (3 - 2 * t);

class Zoom {
  shown = -1; // the level that the words are about
  beat = 0;
  progress = 1; // of the beat
  stopFlight = () => {};
  stopBeat = () => {};

  constructor(model, el) {
    this.model = model;
    this.rungs = model.get("rungs");
    this.beats = model.get("beats");
    this.keys = this.rungs.map((rung) => rung.key);
    this.last = this.rungs.length - 1;
    this.z = this.goal = model.get("level");
    this.build();
    el.append(this.root);
    this.retheme();
    this.place(this.z);
    this.ends = [
      onSize(() => {
        this.root.classList.toggle("te-narrow", el.clientWidth < NARROW);
        this.draw();
      }, el, this.stage), // prettier-ignore
      onTheme(() => this.retheme()),
      onChange(model, {
        level: () => model.get("level") !== this.goal && this.go(model.get("level")),
      }),
    ];
  }
  dispose() {
    this.halt();
    this.stopBeat();
    for (const end of this.ends) end();
  }

  build() {
    this.canvas = make("canvas", {
      ...focusable("Zoom picture: up and down arrows or plus and minus change the level"),
      title: null,
      tabindex: 0,
      role: "img",
      class: "te-zoom-picture",
      on: { pointermove: (event) => this.point(event), click: (event) => this.click(event) },
    });
    const fly = () => (this.isFlying ? this.halt() : this.takeOff());
    this.ladder = createLadder(this.rungs, (n) => this.go(n));
    this.figures = new Figures(() => this.draw());
    this.fly = button("Fly through all levels", `${GLYPHS.play} fly through`, fly);
    this.out = button("One level out", "− out", () => this.go(this.outer));
    this.into = button("One level in", "+ in", () => this.go(this.inner));
    this.slider = slider("Zoom", (z) => this.slide(z), {
      max: this.last,
      step: 0.01,
      class: "te-scrub",
    });
    this.next = button("One beat of the processing element", "one beat", () => this.pulse());
    const controls = [this.fly, this.out, this.slider, this.into, this.next];
    const group = { class: "te-zoom-bar", role: "group", "aria-label": "Zoom controls" };
    this.stage = make(
      "div",
      { class: "te-zoom-stage" },
      this.stage,
      make("div", group, ...controls),
    );
    this.root = make(
      "div",
      { class: "te-zoom", on: { keydown: (event) => this.onKey(event) } },
      this.ladder.element,
      this.stage,
      this.figures.element,
      this.figures.source,
    );
  }

  // ---- where the camera is
  get inner() {
    return Math.floor(this.z + 1e-6) + 1;
  }
  get outer() {
    return Math.ceil(this.z - 1e-6) - 1;
  }
  place(to) {
    this.z = clamp(to, 0, this.last);
    if (Math.round(this.z) !== this.shown) this.showRung(Math.round(this.z));
    this.slider.value = String(this.z);
    this.slider.setAttribute("aria-valuetext", this.rungs[this.shown].name);
    this.out.disabled = this.z <= 0;
    this.into.disabled = this.z >= this.last;
    this.draw();
  }
  showRung(n) {
    const { name, sentence, figures } = this.rungs[n];
    const facts = figures.map(({ label, value }) => `${label} ${value}`).join(", ");
    const said = `${name}: ${sentence} ${facts}. Arrow keys change the level.`;
    this.shown = n;
    this.figures.show(this.rungs[n]);
    this.ladder.show(n);
    this.next.hidden = n !== this.last;
    this.canvas.setAttribute("aria-label", said);
  }
  /** Stay where the slider was left: Python hears of the nearest level. */
  slide(to) {
    this.halt();
    this.place(to);
    this.settle();
  }
  settle() {
    this.goal = Math.round(this.z);
    if (this.model.get("level") !== this.goal) tell(this.model, { level: this.goal });
  }
  go(to, way = smooth, milliseconds = 500 + 750 * Math.abs(clamp(to, 0, this.last) - this.z)) {
    const from = this.z;
    this.halt();
    this.goal = clamp(to, 0, this.last);
    const show = (t) => this.place(from + (this.goal - from) * way(t));
    this.stopFlight = glide(this.root, milliseconds, show, () => {
      this.halt();
      this.settle();
      if (this.goal === this.last) this.pulse();
    });
  }
  takeOff() {
    if (this.z > this.last - 0.01) this.place(0);
    this.go(this.last, (t) => t, (this.last - this.z) * LEVEL_OF_A_FLIGHT);
    this.showFlying(true);
  }
  halt() {
    this.stopFlight();
    this.showFlying(false);
  }
  showFlying(isFlying) {
    this.isFlying = isFlying;
    this.fly.textContent = isFlying ? `${GLYPHS.pause} pause` : `${GLYPHS.play} fly through`;
    this.fly.setAttribute("aria-label", isFlying ? "Pause the flight" : "Fly through all levels");
  }
  /** One more beat of the processing element. */
  pulse() {
    if (this.hasBeaten) this.beat = (this.beat + 1) % this.beats.length;
    this.hasBeaten = true;
    this.next.setAttribute("aria-label", `One more beat; now ${this.beats[this.beat].text}`);
    this.stopBeat();
    this.stopBeat = glide(this.root, BEAT, (progress) => {
      this.progress = progress;
      this.draw();
    });
  }

  // ---- the picture
  get isAtLevel() {
    return Math.abs(this.z - this.shown) < 0.01;
  }
  draw() {
    const width = this.stage.clientWidth - 2 * BORDER;
    if (width <= 0) return;
    const beat = { now: this.beats[this.beat], progress: this.progress };
    const part = this.isAtLevel && this.figures.part;
    drawPicture(this.canvas, this.colours, { keys: this.keys, z: this.z, width, beat, part });
    this.root.dataset.z = this.z.toFixed(3);
    countDrawing(this.root);
  }
  retheme() {
    this.colours = { ...readTones(this.root), ...this.model.get("colours") };
    this.draw();
  }

  // ---- mouse and keys
  partUnder({ offsetX, offsetY }) {
    const scale = WIDE / this.canvas.clientWidth;
    return partAt(this.keys[this.shown], offsetX * scale, offsetY * scale);
  }
  point(event) {
    if (!this.isAtLevel) return;
    const part = this.partUnder(event);
    this.canvas.style.cursor = part === "inside" ? "zoom-in" : "default";
    this.figures.choosePart(part);
  }
  click(event) {
    if (this.partUnder(event) === "inside") this.go(this.shown + 1);
    else if (this.shown === this.last) this.pulse();
  }
  onKey(event) {
    const isSlider = event.target === this.slider; // a tenth of a level with the arrows
    const out = () => this.go(this.outer);
    const into = () => this.go(this.inner);
    const slide = (by) => () => this.slide(Math.round(10 * (this.z + by)) / 10);
    const same = { "+": into, "-": out, Home: () => this.go(0), End: () => this.go(this.last) };
    const arrows = isSlider
      ? {
          ArrowRight: slide(0.1),
          ArrowUp: slide(0.1),
          ArrowLeft: slide(-0.1),
          ArrowDown: slide(-0.1),
        }
      : { ArrowUp: out, ArrowDown: into, "=": into };
    answerKey(event, { ...same, ...arrows, ...(isSlider ? { PageUp: into, PageDown: out } : {}) });
  }
}

function render({ model, el }) {
  const zoom = new Zoom(model, el);
  return () => zoom.dispose();
}

export default { render };
