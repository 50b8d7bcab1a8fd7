// Sliders and switches: their values go to Python, and a new timing comes back.

import { Asker } from "../shared/asking.js";
import { checkbox, slider } from "../shared/controls.js";
import { button, make } from "../shared/elements.js";

const PATIENCE = 4000; // ms after which an answer is no longer expected

/** Make the controls of a model's `sliders` and `switches`; call answered() with each film. */
export function createKnobs(model, label) {
  const group = { class: "te-row te-core-knobs", role: "group", "aria-label": `What if: ${label}` };
  const element = make("div", group);
  const asker = new Asker(model, "knobs", PATIENCE);
  let asked = 0;
  let knobs = {}; // what shows a value, by name
  const show = () => Object.entries(knobs).forEach(([name, set]) => set(asker.values[name]));
  const send = (change) => {
    asked = performance.now();
    asker.ask(change);
    show();
  };
  const add = ({ name, ...knob }, makeKnob) => {
    const { node, set } = makeKnob(knob, (value) => send({ [name]: value }));
    knobs[name] = set;
    element.append(node);
  };
  return {
    element,
    build() {
      const [sliders, switches] = [model.get("sliders"), model.get("switches")];
      knobs = {};
      element.hidden = !sliders.length;
      element.replaceChildren();
      if (element.hidden) return;
      for (const knob of sliders) add(knob, sliderKnob);
      if (switches.length) element.append(make("span", "te-core-without", "without"));
      for (const knob of switches) add(knob, switchKnob);
      element.append(button(`As recorded: ${label}`, "reset", () => send(model.get("first"))));
      show();
    },
    /** Show what Python has now, and ask what was moved meanwhile; returns when it was asked. */
    answered() {
      const since = asked;
      asker.take();
      show();
      asker.answered();
      return since;
    },
    dispose: () => asker.dispose(),
  };
}

function sliderKnob({ text, help, options }, onValue) {
  const out = make("output");
  const on = { keydown: (event) => event.stopPropagation() };
  const look = { title: help, max: options.length - 1, on };
  const input = slider(text, (at) => onValue(options[at][0]), look);
  const set = (value) => {
    const found = options.findIndex(([v]) => v === value);
    const at = Math.max(0, found);
    input.value = String(at);
    out.textContent = options[at][1];
    input.setAttribute("aria-valuetext", out.textContent);
  };
  return { node: make("label", "te-core-knob", make("span", {}, text), input, out), set };
}

function switchKnob({ text, help }, onValue) {
  const input = checkbox(`Without ${text}`, onValue, { title: help });
  const words = make("span", {}, text);
  const node = make("label", "te-core-knob te-core-switch", input, words);
  return { node, set: (value) => (input.checked = Boolean(value)) };
}
