// Train live: controls, one row per arm with its numbers, loss and accuracy.  Python trains and
// sends curves; this page draws them.

import { bytesOf } from "./shared/bytes.js";
import { checkbox, slider } from "./shared/controls.js";
import { button, make, shape } from "./shared/elements.js";
import { onChange, onSize, onceAFrame, shows, tell } from "./shared/life.js";
import { line } from "./shared/svg.js";
import { lossText, plain } from "./shared/words.js";
import { LivePlot, readCurves, strokeOf } from "./training/live_plot.js";

class LiveTraining {
  constructor(model, el) {
    Object.assign(this, { model, offer: model.get("offer") }); // { rates, arms, most_epochs }
    Object.assign(this, { curves: {}, hover: null });
    this.draw = onceAFrame(() => this.drawNow());
    const point = (epoch) => {
      this.hover = epoch;
      this.draw();
    };
    this.plots = [
      new LivePlot("Training loss", "loss", point),
      new LivePlot("Accuracy on images never trained on, %", "accuracy", point),
    ];
    const plots = make("div", "te-plots", ...this.plots.map((p) => p.element));
    this.words = make("div", { class: "te-tr-words", role: "status" });
    const look = { class: "te te-tr", "data-lm-suppress-shortcuts": "true" };
    this.root = make("div", look, this.bar(), this.legend(), plots, this.words);
    el.append(this.root);
    const actions = {
      "rate epochs shown running words": () => this.showControls(),
      "curves done epochs": () => this.takeCurves(),
    };
    this.stops = [onSize(this.draw, plots), this.draw.cancel, onChange(model, actions)];
    this.showControls();
    this.takeCurves();
  }
  set(name, value) {
    if (JSON.stringify(this.model.get(name)) === JSON.stringify(value)) return;
    tell(this.model, { [name]: value });
    this.showControls();
  }
  bar() {
    const { rates, most_epochs: most } = this.offer;
    const setRate = (i) => this.set("rate", rates[i]);
    this.rate = slider("Learning rate", setRate, { max: rates.length - 1 });
    this.rateText = make("output");
    const show = (epochs) => (this.epochsText.textContent = epochs);
    const setEpochs = () => this.set("epochs", Number(this.epochs.value));
    const range = { min: 5, max: most, step: 5, on: { change: setEpochs } };
    this.epochs = slider("Epochs, passes over the training images", show, range);
    this.epochsText = make("output");
    const press = () => this.model.send({ do: this.model.get("running") ? "stop" : "start" });
    this.button = button("Train again", "", press, { class: "te-button te-tr-button" });
    const control = (...parts) => make("label", "te-control", ...parts);
    return make(
      "div",
      "te-row te-tr-bar",
      control("learning rate", this.rate, this.rateText),
      control("epochs", this.epochs, this.epochsText),
      this.button,
    );
  }
  legend() {
    const shown = () => this.rows.filter((row) => row.box.checked).map((row) => row.arm.name);
    this.rows = this.offer.arms.map((arm) => {
      const box = checkbox(`Train ${arm.label}`, () => this.set("shown", shown()));
      const sample = shape("svg", { width: 34, height: 12, "aria-hidden": "true" });
      const stroke = line(1, 6, 33, 6, `te-tr-line te-tr-${arm.name}`);
      for (const [name, value] of Object.entries(strokeOf(arm))) stroke.setAttribute(name, value);
      sample.append(stroke);
      const name = make("span", { class: "te-tr-name", title: arm.label }, arm.short);
      const numbers = make("span", "te-tr-numbers");
      const look = { class: "te-tr-arm", style: `--c:${arm.colour}` };
      return { arm, box, numbers, element: make("label", look, box, sample, name, numbers) };
    });
    const group = {
      class: "te-row te-tr-legend",
      role: "group",
      "aria-label": "Ways to keep the weights",
    };
    return make("div", group, ...this.rows.map((row) => row.element));
  }

  takeCurves() {
    const { model } = this;
    const numbers = new Float32Array(bytesOf(model.get("curves")).buffer);
    this.curves = readCurves(numbers, model.get("curve_arms"), model.get("done"));
    this.draw();
  }
  drawNow() {
    const { curves, hover, model } = this;
    for (const plot of this.plots) {
      plot.draw(curves, this.offer.arms, model.get("epochs"), hover, model.get("words"));
    }
    for (const { arm, numbers } of this.rows) {
      const curve = curves[arm.name];
      const last = curve ? Math.min(curve.done, hover || curve.done) : 0;
      const values = () => {
        const accuracy = (100 * curve.accuracy[last - 1]).toFixed(1);
        return `loss ${lossText(curve.loss[last - 1])}, ${accuracy} %`;
      };
      const when = hover ? `epoch ${last}: ` : "";
      numbers.textContent = last ? `${when}${values()}` : "";
    }
  }
  showControls() {
    const { button: press, epochs, model, rate, root, words } = this;
    const running = model.get("running");
    rate.value = this.offer.rates.indexOf(model.get("rate"));
    this.rateText.textContent = plain(model.get("rate"));
    rate.setAttribute("aria-valuetext", plain(model.get("rate")));
    epochs.value = model.get("epochs");
    this.epochsText.textContent = model.get("epochs");
    for (const { arm, box } of this.rows) box.checked = model.get("shown").includes(arm.name);
    press.textContent = running ? "■ Stop" : "▶ Train again";
    press.title = running ? "Stop training" : "Train again";
    press.setAttribute("aria-label", press.title);
    words.textContent = running ? "Training …" : model.get("words");
    root.dataset.running = running ? "yes" : "no";
    root.dataset.drawn = model.get("words");
  }
}

export default shows(LiveTraining);
