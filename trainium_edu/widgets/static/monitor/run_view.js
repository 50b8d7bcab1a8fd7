// The run: loss, accuracy and agreement over steps, growing while Python trains, then to scrub.

import { make } from "../shared/elements.js";
import { bytesOf } from "../shared/bytes.js";
import { Playback } from "../shared/playback.js";
import { lossText } from "../shared/words.js";
import { Curve } from "./curve.js";
import { Replicas } from "./replicas.js";
import { RunData } from "./run_data.js";
import { runText } from "./words.js";

const PLAY_S = 8; // a whole run
const floats = (view) => new Float32Array(bytesOf(view).buffer);

/** A model's run so far. */
export function readRun(model) {
  const { steps, passes, ...setting } = model.get("setting");
  const [loss, points] = ["loss", "points"].map((name) => floats(model.get(name)));
  const planned = Math.max(1, steps, loss.length);
  const differ = bytesOf(model.get("differ"));
  const earlier = model.get("earlier").map((run) => {
    const along = passes ? planned / run.steps : 1; // a pass lies above a pass, a step above a step
    const stretched = (curve, scale) =>
      curve.map(([step, value]) => [along * step, scale * (value ?? NaN)]);
    return { name: run.name, loss: stretched(run.loss, 1), points: stretched(run.points, 100) };
  });
  return new RunData({ ...setting, loss, points, differ, planned, passes, earlier });
}

/** A name in the colour of its curve. */
const named = (name, number) =>
  make("span", {}, make("i", `te-tm-swatch te-tm-run${number}`), name);

export class RunView {
  constructor() {
    const seek = (step) => this.player.goTo(step);
    this.loss = new Curve("loss", "Loss, mean over all ranks", seek);
    this.accuracy = new Curve("accuracy", "Test accuracy, %", seek);
    this.replicas = new Replicas();
    this.said = make("div", "te-tm-said");
    this.names = make("div", "te-row te-tm-key");
    const describe = (step) => `step ${this.run?.done ? step + 1 : 0} / ${this.run?.planned ?? 0}`;
    const draw = (position) => this.draw(Math.floor(position + 1e-6));
    this.player = new Playback("steps of the run", 1, draw, { describe });
    const plots = make("div", "te-plots", this.loss.element, this.accuracy.element);
    const parts = [this.player.element, this.said, plots, this.names, this.replicas.element];
    this.element = make("div", "te-tm-run", ...parts);
  }
  /** Take a run, grown or new; a cursor at its end stays there. */
  take(run) {
    const { player } = this;
    const isAtEnd = !this.run?.done || player.position >= this.run.done - 1;
    const stays = Math.min(player.position, run.done - 1);
    this.run = run;
    player.clock.framesPerSecond = Math.max(8, run.done / PLAY_S);
    this.redraw();
    if (player.playing && !isAtEnd) {
      player.clock.last = Math.max(0, run.done - 1);
      player.scrub.max = String(player.clock.last);
      return;
    }
    player.setFrames(run.done);
    player.seek(isAtEnd ? run.done - 1 : stays);
  }
  redraw() {
    const { run } = this;
    this.accuracy.element.hidden = !(run.tested ?? true); // a run that is never tested has no curve
    const loss = Array.from(run.loss, (value, i) => [i + 1, value]);
    this.loss.take(loss, run);
    const percent = run.accuracies.map(([step, share]) => [step, 100 * share]);
    this.accuracy.take(percent, { ...run, bound: 0 });
    const names = [...run.earlier.map(({ name }) => name), run.name];
    this.names.replaceChildren(...(names.length > 1 ? names.map(named) : []));
  }
  draw(step) {
    const { run } = this;
    if (!run) return;
    const done = run.done ? step + 1 : 0;
    this.loss.moveTo(done, (known) => (known ? lossText(known[1]) : "none yet"));
    this.accuracy.moveTo(done, (known) => (known ? `${known[1].toFixed(1)} %` : "none yet"));
    this.replicas.draw(run, step);
    this.said.textContent = runText(run, step);
  }
}
