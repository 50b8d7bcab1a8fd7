// The systolic array player: operands queue at the edges, sums fall, results leave.
//
// Every frame comes from one recorded run.  A position p shows cycle floor(p), with what is handed
// on frac(p) of its way to the neighbour.  Nothing is computed here but where to draw; what stands
// still during a cycle is drawn once in it.

import { readTones } from "./shared/canvas.js";
import { menu } from "./shared/controls.js";
import { make } from "./shared/elements.js";
import { onChange, onSize, onTheme } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";
import { onWord } from "./shared/pointing.js";
import { Playback } from "./shared/playback.js";
import { wantsNoMotion } from "./shared/time.js";
import { Film, inflate } from "./systolic_array/film.js";
import { legendOf, showsOf } from "./systolic_array/legend.js";
import { Matrices } from "./systolic_array/matrices.js";
import { Palette } from "./systolic_array/palette.js";
import { ResultTable } from "./systolic_array/result.js";
import { Stage } from "./systolic_array/stage.js";
import { tellCycle, tellPe } from "./systolic_array/story.js";
import { BusyStrip, PastStrip } from "./systolic_array/strips.js";

const BESIDE_FROM = 870; // pixels of the player that hold the array and what is beside it

class ArrayPlayer {
  constructor(film, model, el) {
    Object.assign(this, { film, label: model.get("label"), now: 0 });
    this.build();
    el.append(this.root);
    this.stops = [
      () => this.player.pause(),
      onTheme(() => this.fit()),
      onSize(() => this.fit(), this.root),
      onWord("operand", (name) => this.matrices?.light(name)),
    ];
    this.fit();
    this.result.follow(...film.follow);
    this.player.seek(Math.min(film.cycles - 1, model.get("cycle")));
    this.player.refresh();
    if (!model.get("cycle")) this.player.begin();
  }
  build() {
    const { film, label } = this;
    const redraw = () => this.draw(this.now);
    const seek = (cycle) => this.player.goTo(cycle);
    const onFollow = () => this.followPicked();
    this.stage = new Stage(film, label, { onPick: redraw, onFollow });
    this.result = new ResultTable(film, label, { seek, onChoose: redraw });
    this.busy = new BusyStrip(film, seek);
    this.past = new PastStrip(film);
    const pointing = { onPoint: redraw, onFollow: (m, n) => this.result.follow(m, n) };
    this.matrices = film.w && new Matrices(film, label, pointing);
    const describe = (t) => `cycle ${t} / ${film.cycles - 1}`;
    const pace = { framesPerSecond: film.cycles_per_second, describe };
    this.player = new Playback(label, film.cycles, (position) => this.draw(position), pace);
    const show = (what) => {
      this.stage.show(what);
      redraw();
    };
    const shows = menu(`What the cells show: ${label}`, showsOf(film), show);
    const title = make("div", "te-array-title", label);
    this.peTitle = make("h4");
    this.facts = make("p", { class: "te-array-facts", "aria-live": "off" });
    const about = [this.peTitle, this.facts, this.past.canvas];
    const result = [this.result.picker, this.result.scroll];
    this.side = make("div", "te-array-side", ...about, ...result);
    this.body = make("div", "te-array-body", this.stage.element, this.side);
    this.strip = make("div", "te-array-strip", this.busy.canvas);
    this.story = make("div", { class: "te-array-story", role: "status", "aria-live": "polite" });
    const keydown = (event) => this.player.onKey(event);
    const look = { class: "te te-array", role: "group", "aria-label": label, on: { keydown } };
    const head = [make("div", "te-row te-array-head", title, shows), this.player.element];
    this.root = make("div", look, ...head, this.story, this.body, legendOf(film), this.strip);
  }
  /** Take the page's width and colours. */
  fit() {
    if (!this.stage.element.clientWidth) return;
    const tones = readTones(this.root);
    const palette = new Palette(tones, this.film.scale);
    if (this.matrices) this.placeMatrices(tones, palette);
    this.stage.fit(tones, palette);
    this.busy.fit(this.strip.clientWidth, tones);
    this.past.fit(this.side.clientWidth, tones);
    this.draw(this.now);
  }
  /** Put the matrices beside the array, or above it where the page is narrow or they are large. */
  placeMatrices(tones, palette) {
    const isNarrow = this.root.clientWidth < BESIDE_FROM;
    const wide = this.film.k > 8 ? this.stage.element : this.side;
    const place = isNarrow ? this.body : wide;
    const { canvas } = this.matrices;
    if (canvas.parentElement !== place) place.prepend(canvas);
    this.matrices.fit(Math.min(place.clientWidth, isNarrow ? 800 : 600), tones, palette);
  }
  followPicked() {
    const { k, m } = this.stage.picked;
    const found = this.film.keepsSums ? { m, n: k } : this.film.sumOf(Math.floor(this.now), k, m);
    if (found) this.result.follow(found.m, found.n);
  }
  draw(position) {
    const t = Math.floor(position);
    const isOther = t !== Math.floor(this.now) || position === this.now;
    this.now = position;
    if (!this.stage.box) return;
    if (isOther) this.result.mark(t); // first of all: it asks for the layout
    const holders = this.matrices?.holders(t) ?? [];
    if (isOther || !this.film.isLarge) {
      this.stage.draw(position, { step: this.result.stepAt(t), holders });
    }
    if (!isOther) return;
    const { picked } = this.stage;
    this.past.show(t, picked);
    this.busy.show(t);
    this.matrices?.draw(t, picked, this.result.element);
    this.tell(t, picked);
  }
  tell(t, { k, m }) {
    const isPlaying = this.player.playing;
    this.story.textContent = tellCycle(this.film, t, isPlaying && !wantsNoMotion());
    this.story.setAttribute("aria-live", isPlaying ? "off" : "polite");
    const where = `PE in row ${k}, column ${m}`;
    this.peTitle.textContent = `${where}, at cycle ${t}`;
    const lines = tellPe(this.film, t, k, m);
    this.facts.replaceChildren(...lines.flatMap((line) => [line, make("br")]));
    const keys = "Arrow keys choose a processing element, Enter follows its sum.";
    const told = `The array: ${this.label}. ${keys} ${where}: ${lines.join(" ")}`;
    this.stage.canvas.setAttribute("aria-label", told);
    const isHeard = document.activeElement === this.stage.canvas && !isPlaying;
    this.facts.setAttribute("aria-live", isHeard ? "polite" : "off");
  }
}

function render({ model, el }) {
  const stopNaming = watchControls(el); // a panel's stock controls around it
  el.append(make("div", "te te-array", "Unpacking the run …"));
  let isGone = false;
  let player = { stops: [] };
  const stop = () => player.stops.forEach((end) => end());
  const begin = async () => {
    const film = new Film(await inflate(model.get("film")));
    stop();
    if (isGone) return;
    el.replaceChildren();
    player = new ArrayPlayer(film, model, el);
  };
  begin();
  const stopListening = onChange(model, { film: begin });
  return () => {
    isGone = true;
    for (const end of [stop, stopNaming, stopListening]) end();
  };
}
export default { render };
