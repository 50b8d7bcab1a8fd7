// The graph explorer: a compiled graph as layers to open, operations with their time, and edges;
// behind a switch the graph as it was recorded.
//
// Everything shown was worked out in Python and comes once; only what is open, pointed at and lit
// is decided here.  An operation's instructions are asked of Python, which shows them below.

import { nsText } from "./shared/words.js";
import { adviceList, rowCard, wholeCard } from "./graph/details.js";
import { RowList } from "./graph/list.js";
import { State } from "./graph/state.js";
import { isLayer } from "./graph/tree.js";
import { flopsText, passesText, trafficText } from "./graph/words.js";
import { choices } from "./shared/controls.js";
import { button, make, swatch } from "./shared/elements.js";
import { countDrawing, onChange, onSize, shows, tell } from "./shared/life.js";

const PATIENCE = 3000; // ms
const NARROW = 720; // pixels
const SIDES = ["recorded", "compiled"].map((side) => [side, side]);
const HINT =
  "Click a layer (or Enter) to open it, an operation to choose it. Lines lead from a value down " +
  "to what reads it; long ones show for the row you point at.";
const SILENT = "No answer from the kernel: it is busy, or there is none behind this page.";

const div = (kind, ...children) => make("div", `te-graph-${kind}`, ...children);

class GraphExplorer {
  constructor(model, el) {
    this.model = model;
    this.s = new State(JSON.parse(model.get("graph")), model.get("colours"));
    this.build();
    el.append(this.root);
    this.stops = [
      onSize(() => this.fit(), this.root),
      onChange(model, { "side picked advised": () => this.follow(), answer: () => this.hear() }),
      () => clearTimeout(this.waiting),
    ];
    this.follow();
  }
  build() {
    const { model, s } = this;
    const turn = (side) => tell(model, { side });
    this.sides = choices("Graph as", turn, { class: "te-graph-sides" });
    this.sides.offer(SIDES);
    this.list = new RowList(s, {
      look: (row) => this.look(row),
      choose: (k) => tell(model, { advised: -1, picked: k < 0 ? [] : [s.side, k] }),
    });
    this.details = div("details");
    this.opener = button("Open", "", () => this.ask());
    this.said = make("span", { class: "te-graph-said", role: "status", "aria-live": "polite" });
    const advise = (k) => tell(model, { picked: [], advised: k === s.advised ? -1 : k });
    const head = div("head", make("b", {}, "What to improve first"));
    this.advice = div("side", head, adviceList(s, advise));
    this.bars = make("span");
    const fold = (text, isOpen) => button(`${text}: ${s.name}`, text, () => this.fold(isOpen));
    const { bytes, flops, ns } = s.whole;
    const work = `${flopsText(flops, ns)} · HBM ${trafficText(bytes, ns)}`;
    const heads = ["operation", "result", this.bars, "time", "share"];
    this.root = make(
      "div",
      { class: "te te-graph", role: "group", "aria-label": `Graph of ${s.name}` },
      div("top", div("title", make("b", {}, `${s.name}: ${nsText(s.total_ns)}`), ` · ${work}`)),
      div(
        "tools te-row",
        this.sides.element,
        div("passes te-hint", passesText(s.passes, s.recorded.nodes.length)),
        fold("open all", true),
        fold("close all", false),
      ),
      div("heads", ...heads.map((text) => make("span", {}, text))),
      this.list.element,
      div("legend te-row", ...this.legend()),
      div("hint", HINT),
      div("below", div("card", this.details, div("open", this.opener, this.said)), this.advice),
    );
  }
  legend() {
    const { colours, engines } = this.s;
    const items = engines.map((engine, e) => make("span", {}, swatch(colours[e]), engine));
    return [...items, make("span", {}, make("b"), "at best (roofline)")];
  }

  // ---- what is shown
  /** Take side, choice and advice from the model, and light what they are about. */
  follow() {
    const { list, model, s } = this;
    if (s.side !== model.get("side")) list.begin();
    for (const name of ["side", "picked", "advised"]) s[name] = model.get(name);
    s.light();
    this.sides.show(s.side);
    this.root.dataset.side = s.side;
    this.bars.textContent = s.side === "compiled" ? "time by engine" : "became";
    list.layout();
    const lit = list.shown.find(
      (row) => s.litIn(row) && !(isLayer(s.graph.rows[row]) && s.open.has(row)),
    );
    if (lit !== undefined && !s.litIn(list.current)) list.goTo(lit);
    else this.look(list.chosen);
    this.advice.querySelectorAll("button").forEach((item, k) => {
      item.setAttribute("aria-pressed", String(k === s.advised));
    });
  }
  /** Say what there is to say about a row, or about the whole step (-1). */
  look(row) {
    const { list, s } = this;
    this.details.replaceChildren(...(row < 0 ? wholeCard(s) : rowCard(s, row)));
    const of = s.graph.nodes[s.graph.rows[list.current].node];
    this.subject = s.side === "compiled" ? s.graph.rows[list.current].node : (of?.others[0] ?? -1);
    this.opener.hidden = this.subject < 0;
    const node = s.compiled.nodes[this.subject];
    if (node) this.opener.textContent = `open ${node.operation} ${node.id}: its instructions`;
    this.opener.setAttribute("aria-label", this.opener.textContent);
    countDrawing(this.root);
  }
  fold(isOpen) {
    const { graph, open } = this.s;
    open.clear();
    if (isOpen) graph.rows.forEach((row, k) => isLayer(row) && open.add(k));
    this.list.layout();
  }
  fit() {
    this.root.classList.toggle("te-narrow", this.root.clientWidth < NARROW);
  }

  // ---- from an operation to its instructions
  ask() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => (this.said.textContent = SILENT), PATIENCE);
    this.said.textContent = "";
    const { asks = 0 } = this.model.get("asked");
    tell(this.model, { asked: { operation: this.subject, asks: asks + 1 } });
  }
  hear() {
    clearTimeout(this.waiting);
    this.said.textContent = this.model.get("answer");
  }
}

export default shows(GraphExplorer);
