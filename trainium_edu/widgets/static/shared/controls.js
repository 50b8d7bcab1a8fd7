// Native controls, each with an accessible name; their actions get what was chosen.

import { button, focusable, make } from "./elements.js";

/** An input whose `action` gets what changed, and the event. */
function input(name, type, kind, action, { on = {}, ...more }) {
  const act = (event) => action(event.currentTarget, event);
  return make("input", { ...focusable(name), type, ...more, on: { [kind]: act, ...on } });
}

/** A slider from `more.min` (0) to `more.max`; `onInput(number)` while it moves. */
export function slider(name, onInput, more) {
  const bounds = { min: 0, step: 1, ...more };
  return input(name, "range", "input", ({ value }) => onInput(Number(value)), bounds);
}

export function checkbox(name, onChange, more = {}) {
  return input(name, "checkbox", "change", ({ checked }) => onChange(checked), more);
}

/** A field for text: `onEnter(text)`; other keys stay in it. */
export function field(name, onEnter, more = {}) {
  const answer = ({ value }, event) => {
    event.stopPropagation();
    if (event.key === "Enter") onEnter(value);
  };
  return input(name, "text", "keydown", answer, more);
}

/** A menu of `[value, text]` pairs. */
export function menu(name, options, onChange, more = {}) {
  const look = { ...focusable(name), ...more, on: { change: () => onChange(element.value) } };
  const rows = options.map(([value, text]) => make("option", { value }, text));
  const element = make("select", look, ...rows);
  return element;
}

/** A row of buttons of which one is pressed, `[value, text]` each; `show(value)` presses it. */
export function choices(label, onChoose, more = {}) {
  const element = make("div", { role: "radiogroup", "aria-label": label, ...more });
  return {
    element,
    offer(options) {
      const press = ([value, text]) => {
        const look = { role: "radio", "data-layout": value };
        return button(`${label} ${text}`, text, () => onChoose(value), look);
      };
      element.replaceChildren(...options.map(press));
      element.style.display = options.length < 2 ? "none" : "";
    },
    show(value) {
      for (const child of element.children) {
        child.setAttribute("aria-checked", String(child.dataset.layout === value));
      }
    },
  };
}
