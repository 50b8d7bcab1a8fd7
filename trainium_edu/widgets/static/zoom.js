// A zoom from a cluster to one multiply-accumulate; all figures and texts come from Python.

import { readTones } from "./shared/canvas.js";
import { slider } from "./shared/controls.js";
import { GLYPHS, button, focusable, make } from "./shared/elements.js";
import { answerKey } from "./shared/keys.js";
import { countDrawing, onChange, onSize, onTheme, shows, tell } from "./shared/life.js";
import { glide, wantsNoMotion } from "./shared/time.js";
import { Camera } from "./zoom/camera.js";
import { drawPicture } from "./zoom/picture.js";
import { WIDE, partAt, placesOf } from "./zoom/places.js";
import { Figures, createLadder } from "./zoom/rungs.js";

const BEAT = 1400; // ms
const NARROW = 820; // pixels
const BORDER = 1;

class Zoom {
  shown = -1; // the level that the words are about
  beat = 0;
  hasBeaten = false;
  progress = 1; // of the beat
  stopBeat = () => {};

  constructor(model, el) {
    this.model = model;
    this.rungs = model.get("rungs");
    this.beats = model.get("beats");
    this.levels = model.get("levels");
    this.counts = model.get("counts");
    this.places = placesOf(this.levels, this.counts);
    this.keys = this.rungs.map((rung) => rung.key);
    this.last = this.rungs.length - 1;
    this.build();
    el.append(this.root);
    const size = () => {
      this.root.classList.toggle("te-narrow", el.clientWidth < NARROW);
      this.retheme();
    };
    const follow = () => {
      if (model.get("level") !== this.camera.goal) this.camera.go(model.get("level"));
    };
    this.camera = new Camera(model.get("level"), this.last, this);
    this.retheme();
    this.camera.place(this.camera.z);
    if (this.camera.z === 0 && !wantsNoMotion()) this.camera.fly();
    this.stops = [
      onSize(size, el, this.stage),
      onTheme(() => this.retheme()),
      onChange(model, { level: follow }),
      () => this.camera.halt(),
      () => this.stopBeat(),
    ];
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
    const fly = () => (this.camera.isFlying ? this.camera.halt() : this.camera.fly());
    const look = { max: this.last, step: 0.01, class: "te-scrub" };
    this.ladder = createLadder(this.rungs, (n) => this.camera.go(n));
    this.figures = new Figures(() => this.draw());
    this.fly = button("Fly through all levels", `${GLYPHS.play} fly through`, fly);
    this.out = button("One level out", "− out", () => this.camera.go(this.camera.outer));
    this.into = button("One level in", "+ in", () => this.camera.go(this.camera.inner));
    this.slider = slider("Zoom", (z) => this.camera.stayAt(z), look);
    this.next = button("One beat of the processing element", "one beat", () => this.pulse());
    const controls = [this.fly, this.out, this.slider, this.into, this.next];
    const group = { class: "te-zoom-bar", role: "group", "aria-label": "Zoom controls" };
    const bar = make("div", group, ...controls);
    this.stage = make("div", "te-zoom-stage", this.canvas, bar);
    const { ladder, stage, figures } = this;
    const listen = { class: "te te-zoom", on: { keydown: (event) => this.onKey(event) } };
    this.root = make("div", listen, ladder.element, stage, figures.element, figures.source);
  }

  // ---- what the camera says
  moved(z) {
    const level = Math.round(z);
    if (level !== this.shown) this.showRung(level);
    this.slider.value = String(z);
    this.slider.setAttribute("aria-valuetext", this.rungs[level].name);
    this.out.disabled = z <= 0;
    this.into.disabled = z >= this.last;
    this.draw();
  }
  rests(level, hasCome) {
    if (this.model.get("level") !== level) tell(this.model, { level });
    if (hasCome && level === this.last) this.pulse();
  }
  flies(isFlying) {
    this.fly.textContent = isFlying ? `${GLYPHS.pause} pause` : `${GLYPHS.play} fly through`;
    this.fly.setAttribute("aria-label", isFlying ? "Pause the flight" : "Fly through all levels");
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
    return Math.abs(this.camera.z - this.shown) < 0.01;
  }
  draw() {
    const width = this.stage.clientWidth - 2 * BORDER;
    if (width <= 0) return;
    const { z } = this.camera;
    const beat = { now: this.beats[this.beat], progress: this.progress };
    const part = this.isAtLevel && this.figures.part;
    const { keys, levels, places, counts } = this;
    const now = { counts, beat };
    drawPicture(this.canvas, this.colours, { keys, levels, places, z, width, now, part });
    this.root.dataset.z = z.toFixed(3);
    countDrawing(this.root);
  }
  retheme() {
    this.colours = { ...readTones(this.root), ...this.model.get("colours") };
    this.draw();
  }

  // ---- mouse and keys
  partUnder({ offsetX, offsetY }) {
    const scale = WIDE / this.canvas.clientWidth;
    return partAt(this.places[this.keys[this.shown]], offsetX * scale, offsetY * scale);
  }
  point(event) {
    if (!this.isAtLevel) return;
    const part = this.partUnder(event);
    this.canvas.style.cursor = part === "inside" ? "zoom-in" : "default";
    this.figures.choosePart(part);
  }
  click(event) {
    if (this.partUnder(event) === "inside") this.camera.go(this.shown + 1);
    else if (this.shown === this.last) this.pulse();
  }
  onKey(event) {
    const { camera, last } = this;
    const out = () => camera.go(camera.outer);
    const into = () => camera.go(camera.inner);
    const slide = (tenths) => () => camera.stayAt(Math.round(10 * camera.z + tenths) / 10);
    const [more, less] = [slide(1), slide(-1)];
    const ends = { Home: () => camera.go(0), End: () => camera.go(last) };
    const onSlider = { ArrowRight: more, ArrowUp: more, ArrowLeft: less, ArrowDown: less };
    const keys =
      event.target === this.slider
        ? { ...onSlider, PageUp: into, PageDown: out }
        : { ArrowUp: out, ArrowDown: into, "=": into };
    answerKey(event, { ...keys, ...ends, "+": into, "-": out });
  }
}

export default shows(Zoom);
