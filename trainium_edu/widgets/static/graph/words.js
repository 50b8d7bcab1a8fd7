// What the graph explorer says: pure.

import { bytesText, many, nsText, percent } from "../shared/words.js";

const count = (n) => n.toLocaleString("en-US");

/** "bf16[16,197]" as its dtype and its shape; other types as they are written. */
export function typeFacts(type) {
  const found = /^(\w+)\[([\d,]*)\]$/.exec(type);
  if (!found) return [["type", type]];
  const shape = found[2] ? found[2].split(",").join(" × ") : "one number";
  return Object.entries({ shape, dtype: found[1] });
}

/** How far the engine that works longest is from the roofline. */
export function boundText(ns, bound) {
  if (!(bound > 0) || !(ns > 0)) return "";
  const times = ns / bound;
  const far =
    times < 1.05 ? "at its bound" : `the busiest engine works ${times.toPrecision(2)} × that`;
  return `${nsText(bound)} at best; ${far}`;
}

export function flopsText(flops, ns) {
  const units = Object.entries({ TFLOP: 1e12, GFLOP: 1e9, MFLOP: 1e6, kFLOP: 1e3 });
  const [unit, scale] = units.find(([, size]) => flops >= size) ?? ["FLOP", 1];
  const [per, name] = flops / ns >= 1e3 ? [1e3, "TFLOPS"] : [1, "GFLOPS"];
  const rate = ns > 0 ? `, ${(flops / ns / per).toPrecision(3)} ${name}` : "";
  return `${Number((flops / scale).toPrecision(3))} ${unit}${rate}`;
}

export const trafficText = (bytes, ns) =>
  `${bytesText(bytes)}${ns > 0 ? `, ${(bytes / ns).toPrecision(3)} GB/s` : ""}`;

/** What became of a recorded operation. */
export function fateText(others, nodes) {
  if (!others.length) return "removed";
  const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
  return `in ${nodes[others[0]].operation} ${nodes[others[0]].id}${more}`;
}

/** A row as a screen reader hears it. */
export function rowText(row, node, { total, fate, isLit }) {
  const what = node
    ? `${row.name}, ${node.type}`
    : `${row.name}, ${many(row.operations, "operation")}`;
  const took = row.ns > 0 ? `, ${nsText(row.ns)}, ${percent(row.ns / total)} of the step` : "";
  return `${what}${took}${fate ? `, ${fate}` : ""}${isLit ? ", lit" : ""}`;
}

/** The passes, as counts before and after. */
export function passesText(passes, recorded) {
  const steps = passes.map(({ name, nodes_after: after }) => `${name} → ${count(after)}`);
  return [`${count(recorded)} operations recorded`, ...steps].join(" · ");
}
