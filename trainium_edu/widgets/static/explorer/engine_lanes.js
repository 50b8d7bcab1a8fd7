// The panel of engines and queues: what stood where from when to when.

import { cleared, frame, stroke } from "../shared/canvas.js";
import { drawLinks, drawPieces } from "./critical_path.js";
import { column, drawPlot, drawTimeAxis, fill, panelCanvas, type } from "./drawing.js";
import { hitLane, layOutLanes, neighbour } from "./lane_layout.js";
import { drawLoad, drawSpans } from "./lane_spans.js";
import { GUTTER } from "./time_window.js";
import { percent } from "../shared/words.js";

/** Make the panel; `s` is the state that all panels share (see timeline_explorer.js). */
export function createLanes(s) {
  const keys =
    "Left and right arrows go from instruction to instruction, up and down from lane to lane, " +
    "Enter zooms in, plus and minus zoom, Home shows the whole run, C goes along the critical path";
  const element = panelCanvas(`Engines over time: ${s.label}. ${keys}`, "te-core-lanes");
  let plan = { lanes: [], laneOf: [], height: 0 };
  return {
    element,
    layout: () => (plan = layOutLanes(s.film, s)),
    draw: () => draw(cleared(element, s.view.wide, plan.height), s, plan),
    hit: (x, y) => hitLane(plan, s.film, s.view, x, y),
    step: (sideways, down) => ({ row: neighbour(plan, s.film, s.view, s.picked, sideways, down) }),
  };
}

function draw(c, s, plan) {
  const { view, film, tones } = s;
  const { lanes, height } = plan;
  drawTimeAxis(c, view, tones, 18, height - 2);
  for (const lane of lanes) drawName(c, s, lane);
  drawPlot(s, c, 4, height, () => {
    const x = view.x(film.makespan);
    if (film.makespan < view.end) fill(c, tones.soft, 0.6, x, 20, view.right - x, height - 22);
    const ways = { critical: drawPieces, load: drawLoad };
    for (const lane of lanes) (ways[lane.kind] ?? drawSpans)(c, s, lane);
    if (s.critical && film.path.start.length) drawLinks(c, s, plan);
    drawBaseline(c, s, height);
    drawMarks(c, s, lanes);
  });
}

function drawName(c, s, lane) {
  const { tones } = s;
  const { kind, y, height } = lane;
  const middle = y + height / 2;
  if (kind === "port") {
    type(c, `10px ${tones.font}`, tones.muted);
    c.fillText(lane.name.replace("port: ", "").replace(" on ", " · "), 10, middle, GUTTER - 14);
    return;
  }
  const colour = kind === "critical" ? tones.ink : s.colourOf(lane.key);
  if (kind !== "queue") fill(c, colour, 1, 2, y, 4, height);
  const style = kind === "critical" ? "bold 12px" : height < 16 ? "10px" : "12px";
  type(c, `${style} ${tones.font}`, tones.ink);
  c.fillText(lane.name, 11, middle + 0.5 - (kind === "load" ? 6 : 0));
  type(c, `11px ${tones.font}`, tones.muted, "right");
  if (kind === "engine")
    c.fillText(percent(lane.busy / (s.film.makespan || 1)), GUTTER - 8, middle + 0.5);
  if (kind !== "load") return;
  c.fillText(String(lane.tracks.length), GUTTER - 4, y + 4);
  c.fillText("0", GUTTER - 4, y + height - 4);
  c.textAlign = "left";
  c.fillText("queues at work", 11, middle + 9);
}

/** Mark how long the run took before the sliders moved. */
function drawBaseline(c, { view, film, tones, baseline }, height) {
  if (!baseline || Math.abs(baseline - film.makespan) < 1e-9) return;
  const x = column(view, baseline);
  stroke(c, x, 20, x, height, tones.ink, 1, [4, 3]);
  const way = x > view.right - 60 ? -1 : 1;
  type(c, `11px ${tones.font}`, tones.ink, way < 0 ? "right" : "left", "bottom");
  c.fillText("before", x + 4 * way, height - 3);
}

/** Frame what is hovered and what is picked. */
function drawMarks(c, { view, film, tones, hover, picked, piece }, lanes) {
  const mark = (row, colour) => {
    if (row < 0 || row >= film.rows_start.length) return;
    const x = view.x(film.rows_start[row]);
    const wide = Math.max(3, view.x(film.rows_end[row]) - x + 2);
    for (const { tracks, kind, y, height } of lanes) {
      if (kind === "port" || !tracks.includes(film.rows_lane[row])) continue;
      frame(c, tones.paper, 4, x - 1, y - 1, wide, height + 2);
      frame(c, colour, 2, x - 1, y - 1, wide, height + 2);
    }
  };
  mark(hover.row, tones.ink);
  mark(picked, tones.mark);
  if (piece < 0 || lanes[0]?.kind !== "critical") return;
  const x = view.x(film.pieces_start[piece]);
  const wide = Math.max(3, view.x(film.pieces_end[piece]) - x);
  frame(c, tones.mark, 2, x, lanes[0].y - 1, wide, lanes[0].height + 2);
}
