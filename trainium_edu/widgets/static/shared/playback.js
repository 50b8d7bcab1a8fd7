// The controls of a player: play, pause, reverse, step, scrub, speed, keys.
//
//   const player = new Playback(label, frames, onFrame, { framesPerSecond, describe });
//   root.append(player.element);   player.seek(3);   player.pause();
//
// onFrame(position) is called with a fractional position in [0, frames - 1] whenever it changes;
// with reduced motion requested, only with whole numbers.

import { menu, slider } from "./controls.js";
import { GLYPHS, button, make } from "./elements.js";
import { answerKey } from "./keys.js";
import { Clock, clamp, wantsNoMotion } from "./time.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

export class Playback {
  constructor(label, frames, onFrame, { framesPerSecond = 8, describe = null } = {}) {
    Object.assign(this, { label, onFrame });
    this.clock = new Clock(frames, framesPerSecond);
    this.describe = describe ?? ((frame) => `${frame} / ${this.clock.last}`);
    this.shown = NaN;
    this.request = 0;
    this.onKey = this.onKey.bind(this);
    this.buildControls();
  }
  get position() {
    return this.clock.position;
  }
  get playing() {
    return this.clock.direction !== 0;
  }

  buildControls() {
    const { label } = this;
    const control = (name, text, action) => button(`${name}: ${label}`, text, action);
    this.reverse = control("Play backwards", GLYPHS.reverse, () => this.toggle(-1));
    this.play = control("Play", GLYPHS.play, () => this.toggle(1));
    const look = { max: this.clock.last, value: 0, class: "te-scrub" };
    this.scrub = slider(`Position: ${label}`, (frame) => this.goTo(frame), look);
    const paces = SPEEDS.map((speed) => [speed, `${speed} ×`]);
    const setPace = (speed) => this.setSpeed(Number(speed));
    this.pace = menu(`Speed: ${label}`, paces, setPace, { class: "te-speed" });
    this.pace.value = "1";
    this.readout = make("span", { class: "te-readout", "aria-live": "off" });
    const named = { "aria-label": `Player controls: ${label}`, "data-playing": "no" };
    this.element = make(
      "div",
      { class: "te-row te-playback", role: "group", ...named, on: { keydown: this.onKey } },
      control("To the first frame", "|◀", () => this.goTo(0)),
      this.reverse,
      control("One step back", "−1", () => this.walk(-1)),
      this.play,
      control("One step forward", "+1", () => this.walk(1)),
      this.scrub,
      this.pace,
      this.readout,
    );
  }

  /** Answer a key; a control that uses the same key itself is left alone. */
  onKey(event) {
    const isOn = (...tags) => tags.includes(event.target.tagName);
    const keys = {
      k: () => this.toggle(1),
      j: () => this.toggle(-1),
      r: () => this.toggle(-1),
      Home: () => this.goTo(0),
      End: () => this.goTo(this.clock.last),
      "+": () => this.changeSpeed(1),
      "-": () => this.changeSpeed(-1),
    };
    if (!isOn("BUTTON")) keys[" "] = () => this.toggle(1);
    if (!isOn("SELECT", "INPUT")) {
      keys.ArrowLeft = () => this.walk(-1);
      keys.ArrowRight = () => this.walk(1);
    }
    answerKey(event, keys);
  }
  setSpeed(speed) {
    this.clock.speed = speed;
    this.pace.value = String(speed);
  }
  changeSpeed(by) {
    const at = SPEEDS.indexOf(this.clock.speed) + by;
    this.setSpeed(SPEEDS[clamp(at, 0, SPEEDS.length - 1)]);
  }

  /** Show where the clock stands. */
  update() {
    const { position } = this.clock;
    const whole = Math.round(position);
    const at = wantsNoMotion() ? whole : position;
    if (at !== this.shown) {
      this.shown = at;
      this.onFrame(at);
      this.element.dataset.position = at.toFixed(3); // for tests and for the curious
      this.element.dataset.drawn = String(Number(this.element.dataset.drawn || 0) + 1);
    }
    const text = this.describe(whole);
    if (Number(this.scrub.value) !== whole) this.scrub.value = String(whole);
    if (this.readout.textContent !== text) {
      this.readout.textContent = text;
      this.scrub.setAttribute("aria-valuetext", text);
    }
  }
  /** Draw the present frame again. */
  refresh() {
    this.shown = NaN;
    this.update();
  }
  seek(to) {
    this.clock.seek(to);
    this.update();
  }
  goTo(frame) {
    this.pause();
    this.seek(frame);
  }
  walk(by) {
    this.pause();
    this.clock.step(by);
    this.update();
  }
  pause() {
    this.clock.direction = 0;
    cancelAnimationFrame(this.request);
    this.showDirection();
  }
  toggle(way) {
    const stops = this.clock.direction === way;
    this.pause();
    if (stops) return;
    this.clock.start(way);
    this.update();
    this.showDirection();
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing || !this.element.isConnected) return this.pause();
      this.clock.pass((now - before) / 1000);
      before = now;
      this.update();
      if (!this.playing) return this.pause();
      this.request = requestAnimationFrame(tick);
    };
    this.request = requestAnimationFrame(tick);
  }
  /** Play unasked, unless the reader wants no motion. */
  begin() {
    if (!wantsNoMotion()) this.toggle(1);
  }
  showDirection() {
    const { direction } = this.clock;
    this.play.textContent = direction > 0 ? GLYPHS.pause : GLYPHS.play;
    this.reverse.textContent = direction < 0 ? GLYPHS.pause : GLYPHS.reverse;
    this.play.setAttribute("aria-label", `${direction > 0 ? "Pause" : "Play"}: ${this.label}`);
    this.element.dataset.playing = direction ? "yes" : "no";
  }
  /** Take a new number of frames, and go to the first. */
  setFrames(count) {
    this.pause();
    this.clock.setFrames(count);
    this.scrub.max = String(this.clock.last);
    this.refresh();
  }
}
