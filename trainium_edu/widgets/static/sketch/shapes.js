// The shapes of viz/scene.py as SVG.  Colours of the page have names; others are used as they are.

import { shape } from "../shared/elements.js";

const TONES = {
  ink: "var(--jp-content-font-color1, #222)",
  muted: "var(--jp-ui-font-color2, #616161)",
  grid: "var(--jp-border-color2, #ddd)",
  paper: "var(--jp-layout-color0, #fff)",
};
const DASHES = { dashed: "6 4", dotted: "2 3" };
const tone = (colour) => TONES[colour] || colour;

function svg(tag, style, attributes, text = null) {
  const node = shape(tag, attributes, text);
  Object.assign(node.style, style);
  return node;
}
/** The path through points. */
export const outline = (xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${x},${ys[i]}`).join("");

/** Add what the page shows to a pointer that rests on a shape. */
function named(node, words) {
  if (words) node.append(shape("title", {}, words));
  return node;
}

const SHAPES = {
  rect: (x, y, width, height, colour, opacity, isOutline) => {
    const look = isOutline
      ? { fill: "none", stroke: tone(colour), strokeWidth: 1.4 }
      : { fill: tone(colour), opacity };
    return svg("rect", look, { x, y, width, height });
  },
  line: (x1, y1, x2, y2, colour, strokeWidth, isDashed) => {
    const strokeDasharray = isDashed ? "4 3" : "none";
    return svg("line", { stroke: tone(colour), strokeWidth, strokeDasharray }, { x1, y1, x2, y2 });
  },
  ticks: (xs, top, bottom, colour, strokeWidth, opacity) => {
    const d = xs.map((x) => `M${x},${top}V${bottom}`).join("");
    return svg("path", { stroke: tone(colour), strokeWidth, opacity, fill: "none" }, { d });
  },
  path: (xs, ys, colour, strokeWidth, dash, opacity, words) => {
    const line = { stroke: tone(colour), strokeWidth, strokeDasharray: DASHES[dash] ?? "none" };
    const look = { ...line, opacity, fill: "none", strokeLinejoin: "round" };
    return named(svg("path", look, { d: outline(xs, ys) }), words);
  },
  area: (xs, ys, colour, opacity, words) =>
    named(svg("path", { fill: tone(colour), opacity }, { d: `${outline(xs, ys)}Z` }), words),
  text: (x, y, words, anchor, colour, size, isBold) => {
    const font = { fontSize: `${size}px`, fontWeight: isBold ? 700 : 400 };
    const look = { fill: tone(colour), ...font, fontVariantNumeric: "tabular-nums" };
    return svg("text", look, { x, y, "text-anchor": anchor }, words);
  },
};

/** Draw a scene's shapes. */
export function drawShapes({ shapes, width, height, alt }) {
  const picture = shape("svg", { width, height, role: "img", "aria-label": alt });
  picture.append(...shapes.map(([kind, ...rest]) => SHAPES[kind](...rest)));
  return picture;
}
