// Native controls, each with an accessible name; their actions get what was chosen.

import { button, focusable, make } from "./elements.js";

function input(name, type, event, action, { on = {}, ...more }) {
  return make("input", { ...focusable(name), type, ...more, on: { [event]: action, ...on } });
}

/** A slider from `more.min` (0) to `more.max`; `onInput(number)` while it moves. */
export function slider(name, onInput, more) {
  const bounds = { min: 0, step: 1, ...more };
  const element = input(name, "range", "input", () => onInput(Number(element.value)), bounds);
  return element;
}

export function checkbox(name, onChange, more = {}) {
  const element = input(name, "checkbox", "change", () => onChange(element.checked), more);
  return element;
}

/** A field for text: `onEnter(text)`; other keys stay in it. */
export function field(name, onEnter, more = {}) {
  const element = input(
    name,
    "text",
    "keydown",
    (event) => {
      event.stopPropagation();
      if (event.key === "Enter") onEnter(element.value);
    },
    more,
  );
  return element;
}

/** A menu of `[value, text]` pairs. */
export function menu(name, options, onChange, more = {}) {
  const action = () => onChange(element.value);
  const element = make(
    "select",
    { ...focusable(name), ...more, on: { change: action } },
    ...options.map(([value, text]) => make("option", { value }, text)),
  );
  return element;
}

/** A row of buttons of which one is pressed, `[value, text]` each; `show(value)` presses it. */
export function choices(label, onChoose, more = {}) {
  const element = make("div", { role: "radiogroup", "aria-label": label, ...more });
  return {
    element,
    offer(options) {
      element.replaceChildren(
        ...options.map(([value, text]) =>
          button(`${label} ${text}`, text, () => onChoose(value), {
            role: "radio",
            "data-layout": value,
          }),
        ),
      );
      element.style.display = options.length < 2 ? "none" : "";
    },
    show(value) {
      for (const child of element.children) {
        child.setAttribute("aria-checked", String(child.dataset.layout === value));
      }
    },
  };
}
