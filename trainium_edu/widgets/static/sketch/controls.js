// The controls that Python asks for: ranges, choices and checks, each under its label.

import { checkbox, menu, slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";

/** Make the controls; `send({ name: value })` when one is used. */
export class Controls {
  constructor(wanted, send) {
    this.parts = wanted.map(({ name, kind, text, help, options, ...bounds }) => {
      const change = (value) => send({ [name]: value });
      const title = help || text;
      if (kind === "range")
        return this.range(name, text, slider(text, change, { ...bounds, title }));
      const input =
        kind === "choice"
          ? menu(text, options, change, { title })
          : checkbox(text, change, { title });
      return { name, kind, text, input };
    });
    this.elements = this.parts.map(({ kind, text, input, output }) => {
      const label = make("span", { class: "te-sk-name" }, text);
      const shown = kind === "check" ? [input, " ", text] : [label, input];
      return make("label", { class: `te-sk-control te-sk-${kind}` }, ...shown, output ?? "");
    });
  }
  range(name, text, input) {
    return { name, kind: "range", text, input, output: make("output", { class: "te-sk-out" }) };
  }
  /** Show the values, their texts and the ranges; a control in use is left alone if `isBusy`. */
  show(values, { outputs, ranges }, isBusy) {
    for (const { name, kind, input, output } of this.parts) {
      if (isBusy && input === document.activeElement) continue;
      if (kind === "check") input.checked = values[name];
      else if (input.value !== String(values[name])) input.value = String(values[name]);
      if (ranges[name]) [input.min, input.max] = ranges[name];
      if (!output) continue;
      output.textContent = outputs[name] ?? String(values[name]);
      input.setAttribute("aria-valuetext", output.textContent);
    }
  }
}
