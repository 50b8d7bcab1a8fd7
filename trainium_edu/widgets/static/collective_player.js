// The collective player: chunks move over a topology, buffers fill, links warm up.  Everything
// shown comes from one film; nothing is computed here but where to draw.

import { Film } from "./collective/film.js";
import { View } from "./collective/view.js";
import { chipStory, sentence, wireStory } from "./collective/words.js";
import { bytesOf } from "./shared/bytes.js";
import { choices, menu } from "./shared/controls.js";
import { make } from "./shared/elements.js";
import { countDrawing, onChange, onSize, onTheme, shows, tell } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";
import { Playback } from "./shared/playback.js";
import { glide, mix, wantsNoMotion } from "./shared/time.js";

const HINT =
  "Point at a chip or a link, or reach it with Tab and the arrow keys: its history appears here. " +
  "Keys: space plays, ← → step, R reverses, + − change the speed.";
const HEATS = Object.entries({ step: "heat: this step", sofar: "heat: busy so far" });

class CollectivePlayer {
  constructor(model, el) {
    Object.assign(this, { model, at: 0, isHeatNow: true });
    this.stopMorph = this.stopStep = () => {};
    this.view = new View({
      pick: (what) => this.pick(what),
      seek: (ns) => this.player.goTo(this.film.positionAt(ns)),
    });
    this.film = new Film(bytesOf(model.get("film")));
    this.build();
    el.append(this.root);
    this.takeFilm();
    this.followStep();
    if (model.get("begins")) {
      this.player.setSpeed(0.5); // so that the first discs are seen on their way
      this.player.begin();
    }
    const isResized = () => Math.abs(this.root.clientWidth - this.view.pageWidth) > 1;
    this.stops = [
      watchControls(el), // the menus of the panel around it
      onTheme(() => this.fit()),
      onSize(() => isResized() && this.fit(), this.root),
      onChange(model, {
        film: () => this.another(),
        layout_name: () => this.showLayout(model.get("layout_name")),
        step: () => this.followStep(),
      }),
      () => this.stopMotion(),
      () => this.player.pause(),
    ];
  }
  build() {
    this.title = make("div", "te-coll-title");
    const show = (name) => this.showLayout(name);
    this.layouts = choices("Draw as", show, { class: "te-layouts" });
    const setHeat = (heat) => {
      this.isHeatNow = heat === "step";
      this.draw();
    };
    const heat = menu("Link heat", HEATS, setHeat, { class: "te-speed" });
    const top = [this.title, this.layouts.element, heat];
    this.caption = make("div", "te-coll-caption");
    const status = { role: "status", "aria-live": "polite" };
    this.story = make("div", { class: "te-coll-story", ...status });
    const describe = (step) => `step ${step} / ${this.film.steps}`;
    const pace = { framesPerSecond: 1.25, describe };
    const onFrame = (position) => this.onFrame(position);
    this.player = new Playback("collective", this.film.steps + 1, onFrame, pace);
    const look = { class: "te te-coll", role: "group", on: { keydown: this.player.onKey } };
    const head = [make("div", "te-row te-coll-top", ...top), this.player.element, this.caption];
    const { body, canvases } = this.view;
    this.root = make("div", look, ...head, body, canvases.band, this.story);
  }

  // ---- what is shown
  /** Show the film: every chip has a place before anything is drawn. */
  takeFilm() {
    const { film, model, view } = this;
    const [names, wanted] = [Object.keys(film.layouts), model.get("layout_name")];
    this.layout = names.includes(wanted) ? wanted : names[0];
    this.picked = null;
    this.root.setAttribute("aria-label", `Collective player: ${film.title}`);
    this.title.textContent = film.title;
    this.layouts.offer(Object.entries(film.layouts).map(([name, { label }]) => [name, label]));
    this.layouts.show(this.layout);
    view.setFilm(film);
    this.fit();
    this.tellStory();
  }
  another() {
    this.stopMotion(); // what still moves belongs to the film before
    this.player.pause();
    this.film = new Film(bytesOf(this.model.get("film")));
    this.at = 0;
    this.takeFilm();
    this.player.setFrames(this.film.steps + 1);
  }
  fit() {
    this.stopMorph();
    this.view.fit(this.root);
    this.view.place(this.film.layouts[this.layout]);
    this.draw();
  }
  showLayout(name) {
    const { layouts } = this.film;
    if (name === this.layout || !layouts[name]) return;
    const [before, after] = [layouts[this.layout], layouts[name]];
    this.layout = name;
    this.layouts.show(name);
    this.view.forget();
    tell(this.model, { layout_name: name });
    this.stopMorph();
    this.stopMorph = glide(this.root, 900, (t) => {
      this.view.place(after, before, t);
      this.draw();
    });
  }
  pick(what) {
    if (what.kind === this.picked?.kind && what.index === this.picked.index) return;
    this.picked = what;
    this.tellStory();
    this.draw();
    tell(this.model, { picked: `${what.kind} ${what.index}` });
  }
  tellStory() {
    const { film, picked } = this;
    if (!picked) {
      this.story.replaceChildren(make("span", "te-hint", HINT));
      return;
    }
    const { head, sum, rows } =
      picked.kind === "chip"
        ? chipStory(film, picked.index, film.doneAt(this.at))
        : wireStory(film, picked.index);
    const now = this.at < film.steps ? film.stepAt(this.at) : -1;
    const items = rows.map(([step, text]) =>
      make("li", { class: step === now ? "te-coll-now" : null }, `step ${step + 1}: ${text}`),
    );
    const list = make("ol", "te-coll-list", ...items);
    this.story.replaceChildren(make("b", {}, head), ` ${sum}`, list);
    const current = list.querySelector(".te-coll-now");
    if (current) list.scrollTop = current.offsetTop - list.offsetTop - 20;
  }

  // ---- time
  /** Show one step as motion; a scrub, or a reader who wants no motion, gets the place at once. */
  onFrame(position) {
    this.stopStep();
    const from = this.at;
    const isStep = Math.abs(Math.abs(position - from) - 1) <= 0.001;
    if (this.player.playing || wantsNoMotion() || !isStep) return this.show(position);
    this.stopStep = glide(this.root, 650, (t) => this.show(mix(from, position, t)));
  }
  show(position) {
    this.at = position;
    this.draw();
    if (!Number.isInteger(position) || this.player.playing) return;
    if (this.picked) this.tellStory();
    if (this.model.get("step") !== position) tell(this.model, { step: position });
  }
  followStep() {
    const step = this.model.get("step");
    if (this.player.playing || Math.round(this.at) === step) return;
    this.at = step;
    this.player.seek(step);
  }
  stopMotion() {
    this.stopMorph();
    this.stopStep();
  }
  draw() {
    this.view.draw(this.at, this.picked, this.isHeatNow);
    this.caption.textContent = sentence(this.film, this.at);
    countDrawing(this.root);
    this.root.dataset.at = this.at.toFixed(3);
  }
}

export default shows(CollectivePlayer);
