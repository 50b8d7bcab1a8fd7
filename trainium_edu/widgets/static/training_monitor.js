// The training monitor: a run's curves while Python trains, and one of its steps in time.
// Everything shown comes from Python; nothing is computed here but where to draw.

import { RunView, readRun } from "./monitor/run_view.js";
import { StepView } from "./monitor/step_view.js";
import { make } from "./shared/elements.js";
import { countDrawing, onChange, onSize, onTheme, onceAFrame, shows, tell } from "./shared/life.js";

class TrainingMonitor {
  constructor(model, el) {
    this.model = model;
    this.run = new RunView();
    this.step = new StepView((isOn) => tell(model, { overlap: isOn }));
    const look = { class: "te te-tm", role: "group", "aria-label": "Training monitor" };
    this.root = make("div", look, this.run.element, this.step.element);
    el.append(this.root);
    this.takeStep();
    this.takeRun();
    const grow = onceAFrame(() => this.takeRun());
    this.stops = [
      () => grow.cancel(),
      () => this.run.player.pause(),
      () => this.step.player.pause(),
      onSize(() => this.fit(), this.root),
      onTheme(() => this.fit()),
      onChange(model, {
        "loss points differ setting earlier": grow,
        film: () => this.takeStep(),
        overlap: () => this.step.show(model.get("overlap")),
      }),
    ];
  }
  takeRun() {
    this.run.take(readRun(this.model));
    this.root.dataset.done = String(this.run.run.done);
    countDrawing(this.root);
  }
  takeStep() {
    this.step.isOn = this.model.get("overlap");
    this.step.take(this.model.get("film"));
  }
  fit() {
    this.run.redraw();
    this.run.player.refresh();
    this.step.fit();
    this.step.player.refresh();
    countDrawing(this.root);
  }
}

export default shows(TrainingMonitor);
