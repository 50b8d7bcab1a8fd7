// The life of one result as a table, a row per step; the present one is marked.

import { focusable, make } from "../shared/elements.js";
import { clamp } from "../shared/time.js";
import { four } from "./numbers.js";
import { lifeOf } from "./story.js";

function product({ w, x }) {
  if (w === undefined || w === null) return "";
  return `${four(w)} × ${x === undefined ? "…" : four(x)}`;
}

export class ResultTable {
  /** `seek(cycle)` when a row is pressed, `onChoose()` when another result is followed. */
  constructor(film, label, { seek, onChoose }) {
    Object.assign(this, { film, seek, onChoose, steps: [], element: null });
    const index = (name, most) =>
      make("input", {
        ...focusable(`${name} of the result to follow: ${label}`, { type: "number", min: 0 }),
        max: most - 1,
        on: { change: () => this.follow(Number(this.m.value), Number(this.n.value)) },
      });
    this.m = index("Row m", film.m);
    this.n = index("Column n", film.n);
    const text = (words) => make("span", {}, words);
    const parts = [text("Follow the result dst["), this.m, text(","), this.n, text("]")];
    this.picker = make("div", "te-row te-array-pick", ...parts);
    const { acrossName, keepsSums, stayName } = film;
    const factors = keepsSums ? "moving × stationary" : `${stayName} × ${acrossName}`;
    const heads = ["cycle", "stage", factors, "sum"].map((t) => make("th", { scope: "col" }, t));
    this.body = make("tbody");
    const head = make("thead", {}, make("tr", {}, ...heads));
    const look = { class: "te-array-scroll", tabindex: 0, title: null };
    const name = `The life of one result, cycle by cycle: ${label}`;
    this.scroll = make("div", focusable(name, look), make("table", {}, head, this.body));
  }
  follow(m, n) {
    const { film } = this;
    const within = (i, count) => clamp(Math.round(i) || 0, 0, count - 1);
    this.element = { m: within(m, film.m), n: within(n, film.n) };
    this.m.value = String(this.element.m);
    this.n.value = String(this.element.n);
    this.steps = lifeOf(film, this.element.m, this.element.n);
    const rows = this.steps.map((step) => {
      const click = () => this.seek(Math.min(film.cycles - 1, step.t));
      const cells = [String(step.t), step.stage, product(step), four(step.sum)];
      return make("tr", { on: { click } }, ...cells.map((text) => make("td", {}, text)));
    });
    this.body.replaceChildren(...rows);
    this.onChoose();
  }
  /** Where the result is in the array at a cycle, if it is. */
  stepAt(t) {
    return this.steps.find((step) => step.t === t && step.k >= 0);
  }
  mark(t) {
    let current = null;
    this.steps.forEach((step, i) => {
      const row = this.body.children[i];
      const wanted = step.t === t ? "te-now" : step.t < t ? "te-done" : "te-ahead";
      if (row.className !== wanted) row.className = wanted;
      if (step.t === t) current = row;
    });
    if (!current) return;
    const { clientHeight, scrollTop } = this.scroll;
    const top = current.offsetTop - clientHeight / 2;
    if (Math.abs(scrollTop - top) > clientHeight / 3) this.scroll.scrollTop = top;
  }
}
