// A question with one input and a commit button.  The browser only asks; Python checks the value,
// records it, and answers through the traits `committed` and `status`.

import { askChoice, askNumber, askOrder, press } from "./prediction/inputs.js";
import { make } from "./shared/elements.js";
import { onChange, shows } from "./shared/life.js";

const ASK = { number: askNumber, choice: askChoice, order: askOrder };
const askingAgain = new Set(); // keys whose learner pressed "Change"
let focusNext = null; // the key whose fresh view takes the focus (committing redraws the cell)

class Question {
  constructor(model, el) {
    this.model = model;
    this.key = model.get("key");
    this.body = make("div");
    const status = { role: "status", "aria-live": "polite", tabindex: -1 };
    this.live = make("p", { class: "te-predict-status", ...status });
    const label = `Prediction: ${model.get("question")}`;
    const tag = make("div", "te-predict-tag", "Predict first");
    const question = make("div", "te-predict-question", model.get("question"));
    const parts = [tag, question, this.body, this.live];
    el.append(make("section", { class: "te te-predict", "aria-label": label }, ...parts));
    this.say(model.get("status"));
    if (this.isSettled()) this.rest();
    else this.ask();
    if (focusNext === this.key && model.get("committed")) {
      focusNext = null;
      setTimeout(() => this.live.focus(), 0);
    }
    this.stops = [onChange(model, { "status commits": () => this.answered() })];
  }
  isSettled() {
    return this.model.get("committed") && !askingAgain.has(this.key);
  }
  say(text) {
    this.live.textContent = text;
  }
  ask() {
    const commit = () => {
      focusNext = this.key;
      askingAgain.delete(this.key);
      this.model.send({ type: "commit", value: asked.value() });
    };
    const asked = ASK[this.model.get("kind")](this.model, commit, (text) => this.say(text));
    this.body.replaceChildren(asked.box, press("Commit", commit, { class: "te-button te-commit" }));
  }
  /** The answer is given; it may be changed until the lesson has told the right one. */
  rest() {
    const change = press("Change my prediction", () => {
      askingAgain.add(this.key);
      this.ask();
      this.body.querySelector("input, button")?.focus();
    });
    this.body.replaceChildren(...(this.model.get("locked") ? [] : [change]));
  }
  /** Python has answered; a value that was refused leaves the input as it is. */
  answered() {
    this.say(this.model.get("status"));
    if (this.isSettled()) this.rest();
  }
}

export default shows(Question);
