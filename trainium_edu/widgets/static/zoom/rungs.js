// Words beside the picture: the level's sentence, and its figures with who says so.

import { button, focusable, make } from "../shared/elements.js";

/** The levels as buttons, from the outside in. */
export function createLadder(rungs, go) {
  const last = rungs.length - 1;
  const steps = rungs.map(({ name, holds }, n) => {
    const said = `Level ${n + 1} of ${last + 1}: ${name}`;
    const step = button(said, make("b", {}, name), () => go(n), { class: "te-zoom-rung" });
    step.append(make("small", {}, n < last ? holds : "one beat"));
    return step;
  });
  const items = steps.map((step) => make("li", {}, step));
  const about = { class: "te-zoom-ladder", "aria-label": "Levels, from the outside in" };
  const show = (n) => steps.forEach((step, k) => step.toggleAttribute("aria-current", k === n));
  return { element: make("ol", about, ...items), show };
}

export class Figures {
  chosen = -1;
  title = make("h4", "te-zoom-title");
  sentence = make("p", "te-zoom-sentence");
  list = make("ul", { class: "te-zoom-figures", "aria-label": "Figures of this level" });
  source = make("p", { class: "te-zoom-source", "aria-live": "polite" });

  constructor(onChosen) {
    this.onChosen = onChosen;
    const head = { class: "te-zoom-head", "aria-live": "polite" };
    const words = make("div", head, this.title, this.sentence);
    this.element = make("div", "te-zoom-side", words, this.list);
  }
  /** The part of the picture that the chosen figure is about. */
  get part() {
    return this.rung.figures[this.chosen]?.part ?? "";
  }
  show(rung) {
    const hint = "Point at a figure, or at a part of the picture, to see who says so.";
    this.rung = rung;
    this.chosen = -1;
    this.title.textContent = rung.name;
    this.sentence.textContent = rung.sentence;
    this.items = rung.figures.map((figure, i) => figureButton(figure, () => this.choose(i)));
    this.list.replaceChildren(...this.items.map((item) => make("li", {}, item)));
    this.source.replaceChildren(make("span", "te-hint", hint));
  }
  choose(i) {
    if (i === this.chosen || i < 0) return;
    this.chosen = i;
    this.items.forEach((item, k) => item.classList.toggle("te-chosen", k === i));
    this.source.replaceChildren(...sourceOf(this.rung.figures[i]));
    this.onChosen();
  }
  choosePart(part) {
    if (part) this.choose(this.rung.figures.findIndex((figure) => figure.part === part));
  }
}

function figureButton({ label, value, source, kind }, choose) {
  const name = make("span", "te-zoom-label", label);
  const look = { class: "te-zoom-figure", on: { pointerenter: choose, focus: choose } };
  const item = button(`${label}: ${value}. ${source}`, name, choose, look);
  item.append(make("b", {}, value), make("i", `te-zoom-kind te-${kind}`, kind));
  return item;
}

function sourceOf({ label, value, source, note, url }) {
  const parts = [make("b", {}, `${label}: ${value}`), ` — ${source} `];
  const out = { href: url, target: "_blank", rel: "noopener" };
  const name = `Open the source of ${label}`;
  if (note) parts.push(make("span", "te-hint", `Note: ${note}. `));
  if (url) parts.push(make("a", { ...focusable(name), ...out }, "open the source"));
  return parts;
}
