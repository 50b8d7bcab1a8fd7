// The three ways to answer: a number, one of some options, an order.  Each returns an element and a
// function that reads the answer from it.

import { slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { take } from "../shared/keys.js";

const SAFE = { "data-lm-suppress-shortcuts": "true" }; // else JupyterLab takes keys typed here

/** Make a button that is named by what stands on it, unless a name is given. */
export function press(shown, action, more = {}) {
  const look = { type: "button", class: "te-button", ...more };
  return make("button", { ...SAFE, ...look, on: { click: action } }, shown);
}

/** A marker to drag along an axis that begins at zero, below the bars that are known. */
function marker({ most, known }, input, onEnter) {
  const line = (name, part) => make("label", {}, make("span", {}, name), part);
  const bars = Object.entries(known).map(([name, value]) =>
    line(`${name}: ${value}`, make("i", { style: `width:${(100 * value) / most}%` })),
  );
  const place = (value) => (input.value = value);
  const look = { max: most, step: most / 400, value: 0, on: { keydown: onEnter } };
  const drag = slider("Drag to where it ends", place, look);
  input.addEventListener("input", () => (drag.value = input.value));
  return make("div", "te-predict-axis", ...bars, line("Drag to where it ends", drag));
}

export function askNumber(model, commit) {
  const onEnter = (event) => event.key === "Enter" && commit();
  const name = { "aria-label": `Your prediction: ${model.get("question")}`, class: "te-field" };
  const typing = { inputmode: "decimal", autocomplete: "off", spellcheck: "false" };
  const on = { keydown: onEnter };
  const input = make("input", { ...SAFE, type: "text", ...name, ...typing, on });
  const row = { class: "te-row", style: "margin-bottom:8px" };
  const axis = model.get("axis");
  const drag = axis.most ? marker(axis, input, onEnter) : "";
  const box = make("div", {}, drag, make("div", row, input, model.get("unit")));
  return { box, value: () => input.value };
}

export function askChoice(model) {
  const name = `te-choice-${Math.random().toString(36).slice(2)}`;
  const legend = make("legend", "te-predict-tag", "Choose one");
  const rows = model.get("options").map((value) => {
    const input = make("input", { ...SAFE, type: "radio", name, value });
    return make("div", "te-row", make("label", {}, input, value));
  });
  const box = make("fieldset", { "aria-label": model.get("question") }, legend, ...rows);
  return { box, value: () => box.querySelector("input:checked")?.value ?? null };
}

/** Return a list with the items at two places exchanged, or null if one place is outside it. */
export function exchanged(items, index, other) {
  if (other < 0 || other >= items.length) return null;
  const next = [...items];
  [next[index], next[other]] = [items[other], items[index]];
  return next;
}

export function askOrder(model, _commit, say) {
  let items = [...model.get("options")];
  const list = make("ol", { "aria-label": model.get("question") });
  const move = (index, by) => {
    const next = exchanged(items, index, index + by);
    if (!next) return;
    items = next;
    draw();
    const [up, down] = list.children[index + by].querySelectorAll("button");
    const [wanted, other] = by < 0 ? [up, down] : [down, up];
    (wanted.disabled ? other : wanted).focus();
    say(`${items[index + by]} is now number ${index + by + 1} of ${items.length}.`);
  };
  const row = (item, index) => {
    const last = index === items.length - 1;
    const up = { "aria-label": `Move ${item} up`, disabled: index === 0 };
    const down = { "aria-label": `Move ${item} down`, disabled: last };
    const keydown = (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      take(event);
      move(index, by);
    };
    const parts = [
      make("span", "te-predict-item", item),
      press("↑", () => move(index, -1), up),
      press("↓", () => move(index, 1), down),
    ];
    return make("li", {}, make("div", { class: "te-row", on: { keydown } }, ...parts));
  };
  const draw = () => list.replaceChildren(...items.map(row));
  draw();
  return { box: list, value: () => items };
}
