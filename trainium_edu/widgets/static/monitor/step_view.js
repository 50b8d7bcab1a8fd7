// One step in time: two lanes, a cursor, the links it lights, and a switch for the overlap.

import { bytesOf } from "../shared/bytes.js";
import { readTones } from "../shared/canvas.js";
import { checkbox } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { Playback } from "../shared/playback.js";
import { Lanes } from "./lanes.js";
import { StepFilm, firstMoment, positionAt, timeAt } from "./step_film.js";
import { Torus } from "./torus.js";
import { momentText, sharesText, stepText } from "./words.js";

const PLAY_S = 12; // a whole step
const [compute, links] = ["engines at work", "sum over ranks"];
const KEYS = { compute, links, exposed: "exposed: only links work" };
const keyOf = ([kind, text]) =>
  make("span", {}, make("span", `te-tm-swatch te-tm-swatch-${kind}`), text);

export class StepView {
  /** `overlap(isOn)` when the switch is used. */
  constructor(overlap) {
    this.isOn = true;
    this.lanes = new Lanes({
      seek: (ns) => this.player.goTo(positionAt(this.line.moments, ns)),
      walk: (by) => this.player.walk(by),
      keys: { o: () => overlap(!this.isOn) },
    });
    this.torus = new Torus();
    this.switch = checkbox("Sums overlap with the backward pass", overlap, { title: null });
    this.whole = make("div", "te-tm-said");
    this.shares = make("div", "te-hint");
    this.moment = make("div", "te-tm-moment");
    const describe = (frame) => `event ${frame + 1} / ${this.line?.moments.length ?? 1}`;
    const draw = (position) => this.draw(position);
    this.player = new Playback("time within one step", 1, draw, { describe });
    const label = make("span", "te-tm-label", "One step");
    const words = "sums overlap with the backward pass";
    const bar = [label, make("label", "te-tm-switch", this.switch, words)];
    const keys = make("div", "te-row te-tm-key", ...Object.entries(KEYS).map(keyOf));
    const parts = [this.whole, this.lanes.element, keys, this.moment, this.shares];
    this.element = make(
      "div",
      { class: "te-tm-step", hidden: true },
      make("div", "te-row te-tm-bar", ...bar),
      this.player.element,
      make("div", "te-tm-both", make("div", {}, ...parts), this.torus.element),
    );
  }
  get line() {
    return this.film && (this.isOn ? this.film.on : this.film.off);
  }
  /** Take a step from Python's bytes; none hides the view. */
  take(view) {
    this.element.hidden = !view?.byteLength;
    this.film = view?.byteLength ? new StepFilm(bytesOf(view)) : null;
    if (this.film) this.show(this.isOn, firstMoment(this.line));
  }
  /** Show the timeline with overlap or without, at a time. */
  show(isOn, ns = null) {
    this.isOn = this.switch.checked = isOn;
    if (!this.film) return;
    const { line, player } = this;
    const count = line.moments.length;
    player.clock.framesPerSecond = Math.max(2, count / PLAY_S);
    this.whole.textContent = stepText(line, isOn);
    this.shares.textContent = sharesText(this.film.shares[isOn ? 0 : 1]);
    this.fit();
    player.setFrames(count);
    player.seek(positionAt(line.moments, ns ?? firstMoment(line)));
  }
  fit() {
    if (!this.film) return;
    this.lanes.draw(this.film, this.line);
    this.torus.fit(this.film, readTones(this.element));
  }
  draw(position) {
    const { film, line } = this;
    if (!film) return;
    const ns = timeAt(line.moments, position);
    const said = momentText(film, line, ns);
    this.lanes.moveTo(ns);
    this.torus.draw(film.trafficAt(line, ns), said);
    this.moment.textContent = said;
  }
}
