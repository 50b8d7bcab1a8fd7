// A training run as a film: loss, images read correctly, and all test images, played frame by
// frame. Python trains and sends bytes.

import { bytesOf } from "./shared/bytes.js";
import { slider } from "./shared/controls.js";
import { make } from "./shared/elements.js";
import { onChange, onSize, onTheme, shows, tell } from "./shared/life.js";
import { Playback } from "./shared/playback.js";
import { lossText, plain } from "./shared/words.js";
import { DigitWall } from "./training/digit_wall.js";
import { FilmPlot } from "./training/film_plot.js";
import { Guesses } from "./training/guesses.js";

const LEGEND = "sorted by digit. Orange: misread. Blue: has just become right. Point at one.";

class TrainingFilm {
  constructor(model, el) {
    Object.assign(this, { model, offer: model.get("offer") }); // { rates, passes, per_pass }
    this.labels = bytesOf(model.get("labels"));
    this.count = this.labels.length;
    this.frames = this.offer.passes * this.offer.per_pass + 1;
    this.build();
    el.append(this.root);
    this.take();
    this.stops = [
      () => this.player.pause(),
      onSize(() => this.layout(), this.root),
      onTheme(() => this.player.refresh()),
      onChange(model, { guesses: () => this.another() }),
    ];
  }
  build() {
    const { count, model, offer } = this;
    const images = bytesOf(model.get("images"));
    const orange = { title: "Loss: how wrong it is", colour: "te-tf-orange", say: lossText };
    const title = `New images read correctly, of ${count}`;
    const guess = { at: count / 10, words: "guessing blindly" };
    const say = (value) => value.toFixed(0);
    const blue = { title, colour: "te-tf-blue", say, top: count, guess };
    this.plots = [new FilmPlot(orange), new FilmPlot(blue)];
    this.wall = new DigitWall({ images, count, describe: (one) => this.describe(one) });
    this.rate = slider("Learning rate", () => this.showRate(), {
      max: offer.rates.length - 1,
      on: { change: () => tell(model, { rate: offer.rates[Number(this.rate.value)] }) },
    });
    this.rateText = make("output");
    this.numbers = make("div", "te-tf-numbers");
    const describe = (frame) => `${this.passText(frame)} / ${offer.passes}`;
    const pace = { framesPerSecond: offer.per_pass * 2, describe };
    const draw = (position) => this.draw(position);
    this.player = new Playback("a training run", this.frames, draw, pace);
    const rate = ["learning rate", this.rate, this.rateText];
    const head = [make("label", "te-control", ...rate), this.player.element, this.numbers];
    const plots = make("div", "te-plots", ...this.plots.map((plot) => plot.element));
    const look = { class: "te te-tf", "data-lm-suppress-shortcuts": "true" };
    this.root = make("div", look, ...head, plots, this.wall.element);
  }
  passText(frame) {
    return `pass ${frame / this.offer.per_pass}`;
  }
  showRate() {
    this.rateText.textContent = plain(this.offer.rates[Number(this.rate.value)]);
    this.rate.setAttribute("aria-valuetext", this.rateText.textContent);
  }
  describe(one) {
    if (!one) return `All ${this.count} new images, ${LEGEND}`;
    const isRight = one.read === one.label;
    const now = isRight ? "and is read as one" : `and is read as a ${one.read}`;
    const always = one.settled === 0 ? "It was never misread." : "It is misread to the end.";
    const later = `It is read correctly for good from ${this.passText(one.settled)} on.`;
    const end = one.settled > 0 ? later : always;
    return `At ${this.passText(one.frame)}: this is a ${one.label}, ${now}. ${end}`;
  }
  /** Take a film over from Python. */
  take() {
    this.loss = new Float32Array(bytesOf(this.model.get("loss")).buffer);
    const guesses = new Guesses(bytesOf(this.model.get("guesses")), this.labels);
    this.right = guesses.rightPerFrame();
    this.wall.guesses = guesses;
    this.plots[0].setData(this.loss, this.offer.per_pass);
    this.plots[1].setData(this.right, this.offer.per_pass);
    this.rate.value = this.offer.rates.indexOf(this.model.get("rate"));
    this.showRate();
    this.root.dataset.words = this.model.get("words");
  }
  /** Another film: from its beginning, and playing, because it was asked for. */
  another() {
    this.take();
    this.player.setFrames(this.frames);
    this.player.toggle(1);
  }
  layout() {
    for (const part of [...this.plots, this.wall]) part.fit();
    this.player.refresh();
  }
  draw(position) {
    const frame = Math.floor(position + 1e-6);
    for (const part of [...this.plots, this.wall]) part.draw(position);
    const begin = ": before training, all weights are random";
    const right = make("b", {}, `${this.right[frame]} of ${this.count}`);
    const wrong = make("b", "te-tf-wrong", `${this.count - this.right[frame]} wrong`);
    const end = frame === 0 ? begin : `; loss ${lossText(this.loss[frame])}`;
    this.numbers.replaceChildren(right, " read correctly, ", wrong, end);
  }
}

export default shows(TrainingFilm);
