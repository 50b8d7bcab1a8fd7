// Elements of the page: HTML, SVG, and what every control needs to be reached and named.

const SVG = "http://www.w3.org/2000/svg";

/** Set attributes: null, undefined and false leave one out, true stands for an empty one. */
function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** Make an element with attributes (a string is its class), listeners (under `on`) and children. */
export function make(tag, look = {}, ...children) {
  const { on = {}, ...attributes } = typeof look === "string" ? { class: look } : look;
  const element = assign(document.createElement(tag), attributes);
  for (const [event, action] of Object.entries(on)) element.addEventListener(event, action);
  element.append(...children);
  return element;
}

/** Make an SVG element with attributes and, if given, a text. */
export function shape(tag, attributes = {}, text = null) {
  const element = assign(document.createElementNS(SVG, tag), attributes);
  if (text !== null) element.textContent = text;
  return element;
}

/** Attributes for whatever takes focus: a name, and JupyterLab's shortcuts kept away. */
export function focusable(name, more = {}) {
  return { "aria-label": name, title: name, "data-lm-suppress-shortcuts": "true", ...more };
}

/** A spot of a colour, beside what the colour means. */
export const swatch = (colour) => make("i", { style: `background:${colour}` });

/** A row of a card: a name and what there is to say. */
export const fact = (name, ...value) =>
  make("div", "te-fact", make("span", {}, name), make("span", {}, ...value));

/** Make a button with an accessible name and something to show. */
export function button(name, shown, action, more = {}) {
  const attributes = { ...focusable(name), type: "button", class: "te-button", ...more };
  return make("button", { ...attributes, on: { click: action, ...more.on } }, shown);
}

/** The signs on play buttons, everywhere the same: plain text, never an emoji. */
export const GLYPHS = { play: "▶", reverse: "◀", pause: "❚❚" };
