// One lane of an engine, a queue or a port: its spans with names, waits, and the critical path.

import { letterOn } from "../shared/canvas.js";
import { fill, type } from "./drawing.js";
import { eachVisible, upper } from "./spans.js";
import { GUTTER } from "./time_window.js";
import { Shades } from "./shades.js";
import { shortened } from "../shared/words.js";

export const REASONS = {
  data: "#7a7a7a",
  place: "#D55E00",
  port: "#C9B800",
  queue: "#56B4E9",
  order: "#9a8ad0",
};
export const MERGE_UNDER = 2.4; // pixels: narrower spans become shades
const DIM = 0.22;
const bright = new Shades();
const dim = new Shades();
const dark = new Shades();

export function ground(c, { view, tones }, lane) {
  fill(c, tones.lane, 1, GUTTER, lane.y, view.width, lane.height);
}

/** Fill a box, a little apart from the next where there is room. */
export function fillBox(c, x0, x1, y, height) {
  c.fillRect(x0, y, Math.max(0.6, x1 - x0 - (x1 - x0 > 5 ? 0.8 : 0)), height);
}

export function drawSpans(c, s, lane) {
  const { view, film, tones, lit } = s;
  const { start, end, row } = lane.spans;
  const isEngine = lane.kind === "engine";
  const isPort = lane.kind === "port";
  const withWaits = isEngine && film.waits_row.length > 0;
  const tall = lane.height - (withWaits ? 4 : 0) - (s.critical && isEngine ? 3 : 0);
  const size = Math.max(10, Math.min(12, lane.height - 10));
  const own = s.colourOf(lane.key);
  ground(c, s, lane);
  for (const shades of [bright, dim, dark]) shades.begin(view.width);
  type(c, `${size}px ${tones.font}`, own);
  eachVisible(lane.spans, view, (i) => {
    const x0 = view.x(start[i]);
    const x1 = view.x(end[i]);
    const isLit = !lit || lit(row[i]);
    if (withWaits && film.waitsOf.first[row[i]] >= 0) drawWaits(c, s, lane, row[i], x0);
    if (s.critical && isEngine && film.rows_critical[row[i]]) dark.add(x0 - GUTTER, x1 - GUTTER);
    if (x1 - x0 < MERGE_UNDER && !isPort) {
      (isLit ? bright : dim).add(x0 - GUTTER, x1 - GUTTER);
      return;
    }
    const colour = isPort ? s.colourOf(film.tracks[film.rows_lane[row[i]]]?.[1]) : own;
    const [left, right] = view.clipped(start[i], end[i]);
    c.fillStyle = colour;
    c.globalAlpha = isLit ? 1 : DIM;
    fillBox(c, left, right, lane.y, tall);
    if (isEngine && right - left > 30) {
      const text = shortened(s.nameOf(row[i]), Math.floor((right - left - 8) / (size * 0.56)), 3);
      c.globalAlpha = isLit ? 1 : 0.5;
      c.fillStyle = isLit ? letterOn(colour) : tones.ink;
      c.fillText(text, left + 4, lane.y + tall / 2 + 0.5);
    }
    c.globalAlpha = 1;
  });
  dim.paint(c, lane.y, tall, own, DIM);
  bright.paint(c, lane.y, tall, own);
  dark.paint(c, lane.y + tall, 3, tones.ink);
}

function drawWaits(c, { view, film }, lane, row, x) {
  let right = x;
  for (const w of film.waitsOf.of(row)) {
    const wide = film.waits_ns[w] * view.scale;
    if (wide < 1) continue;
    const left = Math.max(GUTTER, right - wide);
    const colour = REASONS[film.reasons[film.waits_reason[w]].style] ?? REASONS.data;
    fill(c, colour, 0.7, left, lane.y + lane.height - 4, right - left - 0.5, 3);
    right = left;
  }
}

/** All DMA queues as one lane: how many are at work, and what of it is lit or critical. */
export function drawLoad(c, s, lane) {
  const { view, film, tones, lit } = s;
  const { start, end, row } = lane.spans;
  const base = lane.y + lane.height;
  const unit = lane.height / Math.max(lane.tracks.length, film.mostLoad);
  ground(c, s, lane);
  c.fillStyle = s.colourOf("dma");
  c.globalAlpha = lit ? 0.3 : 1;
  loadByColumn(film, view).forEach((level, p) => {
    if (level > 0) c.fillRect(GUTTER + p, base - level * unit, 1, level * unit);
  });
  c.globalAlpha = 1;
  const paint = (wanted, least, y, height, colour) => {
    bright.begin(view.width);
    eachVisible(lane.spans, view, (k) => {
      const x0 = view.x(start[k]) - GUTTER;
      if (wanted(row[k])) bright.add(x0, Math.max(view.x(end[k]) - GUTTER, x0 + least));
    });
    bright.paint(c, y, height, colour);
  };
  if (lit) paint(lit, 1, lane.y, lane.height, s.colourOf("dma"));
  if (s.critical) paint((r) => film.rows_critical[r], 0, base - 3, 3, tones.ink);
}

/** How many queues are at work in each column of pixels, on average. */
export function loadByColumn({ load_ns: when, load }, view) {
  const columns = new Float32Array(Math.ceil(view.width) + 1);
  const from = Math.max(0, upper(when, view.lo) - 1);
  for (let i = from; i < when.length - 1 && when[i] < view.hi; i++) {
    if (!load[i]) continue;
    const x1 = Math.min(view.width, view.x(when[i + 1]) - GUTTER);
    for (let x = Math.max(0, view.x(when[i]) - GUTTER); x < x1;) {
      const next = Math.min(x1, Math.floor(x) + 1);
      columns[Math.floor(x)] += (next - x) * load[i];
      x = next;
    }
  }
  return columns;
}
