// The controls that Python asks for: ranges, choices, checks and seals, each under its label.

import { checkbox, menu, slider } from "../shared/controls.js";
import { button, make } from "../shared/elements.js";

const INPUTS = {
  range: slider,
  choice: (text, change, { options, title }) => menu(text, options, change, { title }),
  check: (text, change, { title }) => checkbox(text, change, { title }),
  seal: (text, change) =>
    button(`Open: ${text}`, text, () => change(true), { class: "te-sk-button" }),
};

/** Make the controls; `send({ name: value })` when one is used. */
export class Controls {
  constructor(wanted, send) {
    this.parts = wanted.map(({ name, kind, text, help, value, ...more }) => {
      const change = (chosen) => send({ [name]: chosen });
      const input = INPUTS[kind](text, change, { ...more, value, title: help || text });
      const output = kind in { range: 1, seal: 1 } ? make("output", "te-sk-out") : "";
      return { name, kind, text, input, output };
    });
    this.elements = this.parts.map(({ kind, text, input, output }) => {
      const label = make("span", "te-sk-name", text);
      const shown = { check: [input, " ", text], seal: [input] }[kind] ?? [label, input];
      return make("label", `te-sk-control te-sk-${kind}`, ...shown, output);
    });
  }
  /** Show the values, their texts and the ranges; a control in use is left alone if `isBusy`. */
  show(values, { outputs, ranges }, isBusy) {
    for (const { name, kind, input, output } of this.parts) {
      if (isBusy && input === document.activeElement) continue;
      if (kind === "check") input.checked = values[name];
      else if (input.value !== String(values[name])) input.value = String(values[name]);
      const [low, high] = ranges[name] ?? [];
      input.disabled = ranges[name] && low === high; // nothing to choose: its end stays as it was
      if (ranges[name] && low !== high) Object.assign(input, { min: low, max: high });
      if (!output) continue;
      const isSealed = kind === "seal" && !values[name];
      output.textContent = isSealed ? "sealed" : (outputs[name] ?? String(values[name]));
      input.setAttribute("aria-valuetext", output.textContent);
      if (kind === "seal") input.setAttribute("aria-expanded", !isSealed);
    }
  }
}
