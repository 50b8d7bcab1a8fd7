// One cell per rank: whether its weights equal those of the others, bit for bit.

import { make } from "../shared/elements.js";
import { agreementText } from "./words.js";

export class Replicas {
  constructor() {
    this.cells = [];
    this.grid = make("div", { class: "te-row te-tm-cells", role: "img" });
    this.said = make("span", "te-tm-agree");
    const title = make("span", "te-tm-label", "A square is a rank");
    this.element = make("div", "te-row te-tm-replicas", title, this.grid, this.said);
  }
  draw(run, step) {
    if (this.cells.length !== run.ranks) {
      const cell = (rank) =>
        make("span", { class: "te-tm-cell", title: `rank ${rank}` }, `${rank}`);
      this.cells = Array.from({ length: run.ranks }, (_, rank) => cell(rank));
      this.grid.replaceChildren(...this.cells);
      this.element.classList.toggle("te-tm-many", run.ranks > 64);
    }
    for (const [rank, cell] of this.cells.entries()) {
      const kind = run.done ? (run.differs(step, rank) ? "differs" : "equal") : "unknown";
      if (cell.dataset.kind !== kind) cell.dataset.kind = kind;
    }
    const text = run.done ? agreementText(run, step) : "no step yet";
    this.grid.setAttribute("aria-label", text);
    this.said.textContent = text;
  }
}
