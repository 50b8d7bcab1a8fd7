// What is said about one row, or about the whole step, and what to improve first.

import { bytesText, many, nsText, percent } from "../shared/words.js";
import { button, fact, make, swatch } from "../shared/elements.js";
import { pathOf } from "./tree.js";
import { boundText, fateText, flopsText, trafficText, typeFacts } from "./words.js";

const NAMED = 6; // operations in a list, before "and 3 more"

const div = (kind, ...children) => make("div", `te-graph-${kind}`, ...children);

function listed(numbers, nodes) {
  const names = numbers.slice(0, NAMED).map((k) => `${nodes[k].operation} ${nodes[k].id}`);
  const more = numbers.length > NAMED ? ` and ${numbers.length - NAMED} more` : "";
  return `${names.join(", ")}${more}`;
}

/** How long each engine was at work, with its colour. */
function enginesFact(s, { engine_ns: times }) {
  const busy = times.flatMap((ns, e) =>
    ns > 0 ? [make("span", {}, swatch(s.colours[e]), `${s.engines[e]} ${nsText(ns)}`)] : [],
  );
  return busy.length ? [fact("engines", make("span", "te-row te-graph-engines", ...busy))] : [];
}

/** Time, engines and work; rates are those of the time during which it ran. */
function workFacts(s, of, during = of.ns) {
  const { ns, bytes, flops } = of;
  const share = `, ${percent(ns / s.total_ns)} of the step`;
  const facts = [fact("time", make("b", {}, nsText(ns)), share), ...enginesFact(s, of)];
  if (bytes > 0) facts.push(fact("HBM", trafficText(bytes, during)));
  if (flops > 0) facts.push(fact("work", flopsText(flops, during)));
  return facts;
}

/** Everything about a row: an operation or a layer. */
export function rowCard(s, k) {
  const { graph, other, side } = s;
  const row = graph.rows[k];
  const node = graph.nodes[row.node];
  const isCompiled = side === "compiled";
  const where = pathOf(graph, k).slice(0, -1).join(" / ");
  const head = div("head", make("b", {}, row.name), node ? ` ${node.id}` : "");
  if (where) head.append(" ", make("span", "te-graph-where", `in ${where}`));
  if (!node) {
    const count = fact("holds", many(row.operations, "operation"));
    return [head, count, ...(isCompiled ? workFacts(s, row) : [])];
  }
  const facts = typeFacts(node.type).map(([name, text]) => fact(name, text));
  if (node.line) facts.push(fact("line", make("code", {}, node.line)));
  if (isCompiled) {
    const ran = node.end_ns - node.start_ns;
    facts.push(...workFacts(s, row, ran));
    const from = `from ${nsText(node.start_ns, 4)} to ${nsText(node.end_ns, 4)}`;
    if (ran > 1.001 * row.ns) facts.push(fact("ran", `${from}, in part hidden behind others`));
  }
  const bound = boundText(Math.max(...row.engine_ns), node.roofline_ns);
  if (bound) facts.push(fact("roofline", bound));
  if (node.inputs.length) facts.push(fact("reads", listed(node.inputs, graph.nodes)));
  if (graph.users[row.node].length)
    facts.push(fact("read by", listed(graph.users[row.node], graph.nodes)));
  if (isCompiled && node.others.length) {
    facts.push(fact("stands for", listed(node.others, other.nodes)));
  }
  if (!isCompiled) facts.push(fact("became", fateText(node.others, other.nodes)));
  const text = node.text ? [make("code", { title: node.text }, node.text)] : [];
  return [head, ...text, ...facts];
}

/** The step as a whole. */
export function wholeCard(s) {
  const most = fact("at once", `${bytesText(s.hbm_bytes)} of HBM at most`);
  return [div("head", make("b", {}, "The whole step")), ...workFacts(s, s.whole), most];
}

/** The ranked list of advice; `choose(k)` is called with one. */
export function adviceList(s, choose) {
  if (!s.advice.length) return div("where", "Nothing to advise.");
  const most = Math.max(...s.advice.map(({ ns }) => ns), 1e-9);
  const items = s.advice.map(({ text, ns, line, nodes }, k) => {
    const style = `width:${((100 * ns) / most).toFixed(1)}%`;
    const share = `${nsText(ns)} (${percent(ns / s.total_ns)})`;
    const name = `${k + 1}. ${text}: ${share}, ${many(nodes.length, "operation")}, ${line}`;
    const look = { class: "te-button te-graph-advice", title: null };
    const item = button(name, "", () => choose(k), look);
    const code = line ? [make("code", {}, line)] : [];
    const gain = make("span", "te-graph-gain", make("i", { style }));
    item.append(make("span", {}, `${k + 1}. `, ...code, ` ${text}`), make("b", {}, share), gain);
    return make("li", {}, item);
  });
  return make("ol", "te-graph-advices", ...items);
}
