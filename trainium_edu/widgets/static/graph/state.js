// What the graph explorer shows: one of two graphs, its open layers, and what is lit in it.

import { around, firstOpen, indexed } from "./tree.js";

const FIRST_ROWS = 18;
const MOST_REVEALED = 12; // lit operations whose layers open for them

/** The whole step, as a row. */
function wholeOf(rows, ns) {
  const tops = rows.filter(({ level }) => level === 0);
  const sum = (of) => tops.reduce((all, row) => all + of(row), 0);
  const engine_ns = rows[0]?.engine_ns.map((_, e) => sum((row) => row.engine_ns[e])) ?? [];
  return { ns, engine_ns, bytes: sum((row) => row.bytes), flops: sum((row) => row.flops) };
}

export class State {
  side = "compiled";
  picked = []; // a side and the number of an operation of it, or nothing
  advised = -1;
  lit = new Map(); // rows and how many operations are lit in each

  constructor({ compiled, recorded, ...rest }, colours) {
    Object.assign(this, rest);
    this.colours = this.engines.map((engine) => colours[engine]);
    this.compiled = indexed(compiled);
    this.whole = wholeOf(this.compiled.rows, this.total_ns);
    this.recorded = indexed(recorded);
    this.opens = {
      compiled: firstOpen(this.compiled, FIRST_ROWS),
      recorded: firstOpen(this.recorded, FIRST_ROWS),
    };
  }
  get graph() {
    return this[this.side];
  }
  get other() {
    return this[this.side === "compiled" ? "recorded" : "compiled"];
  }
  get open() {
    return this.opens[this.side];
  }
  /** The operations of the graph shown that advice, or a choice in either graph, is about. */
  get about() {
    const [side, ...numbers] =
      this.advised >= 0 ? ["compiled", ...this.advice[this.advised].nodes] : this.picked;
    if (side === this.side) return numbers;
    return [...new Set(numbers.flatMap((k) => this[side].nodes[k].others))];
  }
  /** Light what the choice is about; open the layers around it where that is not too much. */
  light() {
    const { about, graph } = this;
    this.lit = new Map();
    for (const number of about) {
      const layers = around(graph, graph.rowOf[number]);
      for (const k of [graph.rowOf[number], ...layers]) this.lit.set(k, this.litIn(k) + 1);
      if (about.length <= MOST_REVEALED) for (const k of layers) this.open.add(k);
    }
  }
  litIn(row) {
    return this.lit.get(row) ?? 0;
  }
  /** The colour of the engine that works longest for a row, or none. */
  colourOf({ engine_ns: times }) {
    const most = Math.max(...times);
    return most > 0 ? this.colours[times.indexOf(most)] : "";
  }
}
