// Scales and axes of the training plots.

import { shape } from "../shared/elements.js";
import { line, path, words } from "../shared/svg.js";

const ROUND = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

/** A function from values in [low, high] to pixels in [from, to]. */
export const linear = (low, high, from, to) => (v) =>
  from + ((v - low) / (high - low)) * (to - from);

/** The same in logarithms; what lies below `low` is shown there. */
export function logarithmic(low, high, from, to) {
  const scale = linear(Math.log(low), Math.log(high), from, to);
  return (v) => scale(Math.log(Math.max(v, low)));
}

/** The range of a loss: from `least` to 3 at the least, with a margin; and its round numbers. */
export function lossRange(values, least, margin) {
  const real = [...values].filter((v) => Number.isFinite(v) && v > 0);
  const low = Math.min(least, ...real) / margin;
  const high = Math.max(3, ...real) * margin;
  return { low, high, ticks: ROUND.filter((t) => t >= low && t <= high) };
}

/** The smallest of some steps that divides a length into at most so many. */
export const stepFor = (length, most) =>
  [1, 2, 5, 10, 20, 50].find((s) => length / s <= most) ?? 100;

/** "M1,2L3,4" through points; where a value is not a number the line is broken. */
export function curvePath(points) {
  let pen = "M";
  return points
    .map(([x, y]) => {
      const isReal = Number.isFinite(y);
      const part = isReal ? `${pen}${x.toFixed(1)},${y.toFixed(1)}` : "";
      pen = isReal ? "L" : "M";
      return part;
    })
    .join("");
}

/** The place of a plot in its picture. */
export function plotBox(width, height, pad) {
  const right = width - pad.right;
  return { left: pad.left, right, top: pad.top, bottom: height - pad.bottom, height };
}

/** Draw a title, ticks with their texts and the two axes. */
export function drawAxes({ title, below, box, x, y, xTicks, yTicks, hasColumns = false }) {
  const { left, right, top, bottom, height } = box;
  const across = yTicks.flatMap((t) => [
    line(left, y(t), right, y(t), "te-grid"),
    words(left - 7, y(t) + 4, String(t), "te-small", "end"),
  ]);
  const along = xTicks.flatMap(([at, text]) => [
    ...(hasColumns ? [line(x(at), top, x(at), bottom, "te-grid")] : []),
    words(x(at), bottom + 17, text, "te-small", "middle"),
  ]);
  return [
    words(left - 38, 16, title, "te-title"),
    ...across,
    ...along,
    words((left + right) / 2, height - 5, below, "te-small", "middle"),
    path(`M${left},${top}V${bottom}H${right}`, "te-axis"),
  ];
}

/** An empty picture of a plot. */
export const plotPicture = (height) => shape("svg", { class: "te-plot", height, role: "img" });
