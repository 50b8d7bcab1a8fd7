// The rows on the page: a tree of which only what is in view is made, with edges beside it.

import { nsText, percent } from "../shared/words.js";
import { focusable, make } from "../shared/elements.js";
import { answerKey } from "../shared/keys.js";
import { clamp } from "../shared/time.js";
import { Gutter, ROW } from "./gutter.js";
import { around, isLayer, visibleRows } from "./tree.js";
import { fateText, rowText } from "./words.js";

const MOST_ROWS = 21; // in view
const KEYS =
  "Up and down arrows move, right opens a layer, left closes it, Enter chooses an operation";
let lists = 0;

export class RowList {
  current = 0; // the row that the keyboard is on
  pointed = -1;
  shown = [];
  isUntouched = true; // nothing is chosen, and the keyboard has not moved

  /** `s` holds the graph shown, its open layers and what is lit; `on` has look, choose. */
  constructor(s, on) {
    Object.assign(this, { s, on, id: `te-graph-${++lists}` });
    this.gutter = new Gutter();
    this.rows = make("div", { class: "te-graph-rows", role: "presentation" });
    this.inner = make("div", { class: "te-graph-inner", role: "presentation" });
    this.inner.append(this.gutter.element, this.rows);
    const listeners = {
      scroll: () => this.draw(),
      keydown: (event) => this.onKey(event),
      pointermove: (event) => this.point(this.rowAt(event)),
      pointerleave: () => this.point(-1),
      click: (event) => this.onClick(event),
    };
    const look = { class: "te-graph-list", role: "tree", tabindex: "0", title: null };
    const named = focusable(`Operations of ${s.name}. ${KEYS}`, { ...look, on: listeners });
    this.element = make("div", named, this.inner);
  }

  // ---- what shows
  layout() {
    const { graph, open } = this.s;
    this.shown = visibleRows(graph, open);
    const wide = this.gutter.layout(graph, this.shown, open);
    this.element.parentElement.style.setProperty("--gutter", `${wide}px`);
    this.inner.style.height = `${this.shown.length * ROW}px`;
    this.element.style.height = `${Math.min(MOST_ROWS, this.shown.length) * ROW + 2}px`;
    if (!this.shown.includes(this.current)) {
      this.current = around(graph, this.current).find((k) => this.shown.includes(k)) ?? 0;
    }
    // A bar's length is a share of the longest row that is not shown as its parts.
    const closed = this.shown.filter((k) => !(isLayer(graph.rows[k]) && open.has(k)));
    this.most = closed.reduce((most, k) => Math.max(most, graph.rows[k].ns), 1e-9);
    this.draw();
  }
  draw() {
    const { element, shown } = this;
    this.first = clamp(Math.floor(element.scrollTop / ROW) - 2, 0, shown.length);
    this.last = Math.min(shown.length - 1, this.first + MOST_ROWS + 4);
    this.rows.replaceChildren();
    for (let place = this.first; place <= this.last; place++) this.rows.append(this.rowOf(place));
    this.rows.style.top = `${this.first * ROW}px`;
    this.mark();
  }
  /** Mark the rows of pointer and keyboard: no row is made again under a pointer that clicks. */
  mark() {
    const { current, element, first, last, pointed, s, shown } = this;
    [...this.rows.children].forEach((row, k) => {
      row.classList.toggle("te-graph-current", shown[first + k] === current);
      row.classList.toggle("te-graph-pointed", shown[first + k] === pointed);
    });
    const near = shown.indexOf(pointed >= 0 ? pointed : this.chosen);
    this.gutter.draw(first, last, near, (row) => s.colourOf(row));
    element.setAttribute("aria-activedescendant", `${this.id}-${current}`);
  }
  rowOf(place) {
    const { s } = this;
    const k = this.shown[place];
    const row = s.graph.rows[k];
    const node = s.graph.nodes[row.node];
    const isOpen = s.open.has(k);
    const lit = s.litIn(k);
    const fate = node && s.side === "recorded" ? fateText(node.others, s.other.nodes) : "";
    const span = (kind, ...shown) => make("span", `te-graph-${kind}`, ...shown);
    const name = node ? row.name : `${isOpen ? "▾" : "▸"} ${row.name}`;
    const more = node ? "" : ` ${row.operations}`;
    const dots = lit && !node ? span("count", `${lit} lit`) : "";
    const words = [
      make("span", "te-graph-name", name, span("few", more), dots),
      span("type", node ? node.type : ""),
      fate ? span("fate", fate) : span("bar", ...(isOpen && !node ? [] : this.barOf(row))),
      span("ns", row.ns > 0 ? nsText(row.ns) : ""),
      span("ns", row.ns > 0 ? percent(row.ns / s.total_ns) : ""),
    ];
    words[0].style.paddingLeft = `${14 * row.level + (node ? 13 : 0)}px`;
    const kinds = ["te-graph-row", `te-graph-${row.phase}`];
    if (!node) kinds.push("te-graph-layer");
    if (lit && !isOpen) kinds.push("te-graph-lit");
    return make(
      "div",
      {
        class: kinds.join(" "),
        id: `${this.id}-${k}`,
        role: "treeitem",
        "aria-level": row.level + 1,
        "aria-expanded": node ? null : String(isOpen),
        "aria-selected": String(Boolean(node) && lit > 0),
        "aria-label": rowText(row, node, { total: s.total_ns, fate, isLit: lit > 0 }),
      },
      ...words,
    );
  }
  /** A bar as long as the time, split as the engines were busy; a mark is at its roofline. */
  barOf(row) {
    const sum = row.engine_ns.reduce((a, b) => a + b, 0);
    if (!(row.ns > 0) || !sum) return [];
    const whole = (100 * row.ns) / this.most;
    const parts = row.engine_ns.flatMap((ns, e) => {
      const style = `width:${((whole * ns) / sum).toFixed(2)}%;background:${this.s.colours[e]}`;
      return ns > 0 ? [make("i", { style })] : [];
    });
    const bound = this.s.graph.nodes[row.node]?.roofline_ns;
    const style = `left:${((100 * bound) / this.most).toFixed(2)}%`;
    return bound > 0 && bound <= row.ns ? [...parts, make("b", { style })] : parts;
  }

  // ---- what is done
  get chosen() {
    return this.isUntouched ? -1 : this.current;
  }
  rowAt({ clientY }) {
    const y = clientY - this.inner.getBoundingClientRect().top;
    return this.shown[Math.floor(y / ROW)] ?? -1;
  }
  point(k) {
    if (k === this.pointed) return;
    this.pointed = k;
    this.mark();
    this.on.look(k >= 0 ? k : this.chosen);
  }
  onClick(event) {
    const k = this.rowAt(event);
    if (k < 0) return;
    this.current = k;
    this.isUntouched = false;
    this.enter();
  }
  /** Open or close a layer, choose an operation. */
  enter() {
    const { rows } = this.s.graph;
    if (isLayer(rows[this.current])) this.turn(!this.s.open.has(this.current));
    else this.on.choose(rows[this.current].node);
    this.on.look(this.current);
  }
  turn(isOpen) {
    if (isOpen) this.s.open.add(this.current);
    else this.s.open.delete(this.current);
    this.layout();
  }
  goTo(k) {
    this.current = k;
    this.pointed = -1;
    this.isUntouched = false;
    const [y, { scrollTop, clientHeight }] = [this.shown.indexOf(k) * ROW, this.element];
    if (y < scrollTop || y > scrollTop + clientHeight - ROW) {
      this.element.scrollTop = y < scrollTop ? y : y - clientHeight + 2 * ROW;
    }
    this.draw();
    this.on.look(k);
  }
  begin() {
    this.current = 0;
    this.isUntouched = true;
  }
  /** Back to the first row, with nothing chosen. */
  reset() {
    this.goTo(this.shown[0]);
    this.begin();
    this.on.choose(-1);
    this.draw();
    this.on.look(-1);
  }
  onKey(event) {
    const { shown, current, s } = this;
    const at = shown.indexOf(current);
    const go = (place) => () => this.goTo(shown[clamp(place, 0, shown.length - 1)]);
    const canTurn = isLayer(s.graph.rows[current]);
    const isOpen = s.open.has(current);
    const parent = s.graph.parents[current];
    answerKey(event, {
      ArrowUp: go(at - 1),
      ArrowDown: go(at + 1),
      PageUp: go(at - MOST_ROWS),
      PageDown: go(at + MOST_ROWS),
      Home: go(0),
      End: go(shown.length - 1),
      ArrowRight: () => (canTurn && !isOpen ? this.turn(true) : go(at + 1)()),
      ArrowLeft: () => (canTurn && isOpen ? this.turn(false) : parent >= 0 && this.goTo(parent)),
      Enter: () => this.enter(),
      " ": () => this.enter(),
      Escape: () => this.reset(),
    });
  }
}
