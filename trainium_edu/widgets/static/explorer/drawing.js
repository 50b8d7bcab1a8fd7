// What all panels of a run draw with: boxes, lines, words, the axis of time.

import { stroke } from "../shared/canvas.js";
import { focusable, make } from "../shared/elements.js";
import { GUTTER, ticks } from "./time_window.js";

/** A panel's canvas, which the keyboard reaches: its name says what the keys do. */
export function panelCanvas(name, kind) {
  const look = { title: null, tabindex: "0", role: "application", class: kind };
  return make("canvas", focusable(name, look));
}

/** Set the type of what is written next. */
export function type(c, font, colour, align = "left", baseline = "middle") {
  Object.assign(c, { font, fillStyle: colour, textAlign: align, textBaseline: baseline });
}

export function fill(c, colour, alpha, x, y, width, height) {
  c.fillStyle = colour;
  c.globalAlpha = alpha;
  c.fillRect(x, y, width, height);
  c.globalAlpha = 1;
}

/** The middle of the pixel that a moment falls on. */
export const column = (view, t) => Math.round(view.x(t)) + 0.5;

/** Draw the axis of time at height `y`, with its grid down to `bottom`. */
export function drawTimeAxis(c, view, tones, y, bottom) {
  for (const [ns, text] of ticks(view)) {
    const x = column(view, ns);
    stroke(c, x, y, x, bottom, tones.line);
    const align = x > view.right - 24 ? "right" : "center";
    type(c, `11px ${tones.font}`, tones.muted, align, "alphabetic");
    c.fillText(text, Math.min(x, view.wide - 2), y - 4);
  }
}

/** Draw inside the plot only, then the cursor over it. */
export function drawPlot({ view, tones, cursor }, c, top, height, draw) {
  c.save();
  c.beginPath();
  c.rect(GUTTER, 0, view.width, height);
  c.clip();
  draw();
  const x = column(view, cursor);
  if (cursor >= 0) stroke(c, x, top, x, height, tones.mark);
  c.restore();
}

const hatches = new Map();

/** The hatching that means "no work: fixed cost or waiting", on any colour. */
export function hatch(c, colour) {
  if (!hatches.has(colour)) {
    const tile = new OffscreenCanvas(6, 6);
    const h = tile.getContext("2d");
    fill(h, colour, 0.35, 0, 0, 6, 6);
    for (const k of [-6, 0, 6]) stroke(h, k - 1, 7, k + 7, -1, colour, 1.6);
    hatches.set(colour, c.createPattern(tile, "repeat"));
  }
  return hatches.get(colour);
}
