// The critical path: its pieces in a lane of their own, and the lines that lead from lane to lane.

import { letterOn } from "../shared/canvas.js";
import { column, fill, hatch, type } from "./drawing.js";
import { MERGE_UNDER, fillBox, ground } from "./lane_spans.js";
import { Shades } from "./shades.js";
import { eachVisible } from "./spans.js";
import { GUTTER } from "./time_window.js";

const LETTER = 6; // pixels
const LEAST_APART = 4; // pixels between lines
const pool = new Map(); // shades by kind of piece and lane

/** The colour of a piece of the critical path. */
export function pieceColour(s, p) {
  const { film } = s;
  const engine = film.tracks[film.rows_lane[film.pieces_row[p]]]?.[1];
  return film.whats[film.pieces_what[p]].colour ?? s.colourOf(engine);
}

export function drawPieces(c, s, lane) {
  const { view, film, tones, lit } = s;
  const { start, end, row } = lane.spans;
  const groups = new Map();
  ground(c, s, lane);
  type(c, `11px ${tones.font}`, tones.ink);
  eachVisible(film.path, view, (p) => {
    const what = film.whats[film.pieces_what[p]];
    const isWork = what.style === "work";
    const colour = pieceColour(s, p);
    const wide = (end[p] - start[p]) * view.scale;
    if (wide < MERGE_UNDER) {
      const key = `${colour} ${isWork ? 1 : 0.55}`;
      if (!groups.has(key)) groups.set(key, shadesFor(key, view.width));
      groups.get(key).add(view.x(start[p]) - GUTTER, view.x(end[p]) - GUTTER);
      return;
    }
    const [left, right] = view.clipped(start[p], end[p]);
    const isLit = s.line < 0 || !lit || lit(row[p]);
    c.fillStyle = isWork ? colour : hatch(c, colour);
    c.globalAlpha = isLit ? 1 : 0.25;
    fillBox(c, left, right, lane.y, lane.height);
    c.globalAlpha = 1;
    if (what.short.length > Math.floor((right - left - 8) / LETTER)) return;
    if (!isWork) {
      const room = Math.min(right - left - 4, what.short.length * LETTER + 5);
      fill(c, tones.paper, 0.8, left + 2, lane.y + 3, room, lane.height - 6);
    }
    c.fillStyle = isWork ? letterOn(colour) : tones.ink;
    c.fillText(what.short, left + 4, lane.y + lane.height / 2 + 0.5);
  });
  for (const [key, shades] of groups) {
    const [colour, alpha] = key.split(" ");
    shades.paint(c, lane.y, lane.height, colour, Number(alpha));
  }
  const x0 = view.x(0);
  c.strokeStyle = tones.strong;
  c.strokeRect(x0, lane.y - 0.5, view.x(film.makespan) - x0, lane.height + 1);
}

function shadesFor(key, width) {
  if (!pool.has(key)) pool.set(key, new Shades());
  pool.get(key).begin(width);
  return pool.get(key);
}

/** Draw thin lines from lane to lane where the critical path changes engines. */
export function drawLinks(c, { film, view, tones }, { lanes, laneOf }) {
  const laneAt = (p) => lanes[laneOf[film.rows_lane[film.pieces_row[p]]]];
  let last = -99;
  c.beginPath();
  eachVisible(film.path, view, (p) => {
    const [a, b] = [p ? laneAt(p - 1) : null, laneAt(p)];
    const x = column(view, film.pieces_start[p]);
    if (!a || !b || a === b || x - last < LEAST_APART) return;
    last = x;
    const [above, below] = a.y < b.y ? [a, b] : [b, a];
    c.moveTo(x, above.y + above.height - 2);
    c.lineTo(x, below.y + (below === b ? 2 : below.height - 2));
  });
  c.strokeStyle = tones.ink;
  c.lineWidth = 1;
  c.globalAlpha = 0.45;
  c.stroke();
  c.globalAlpha = 1;
}
