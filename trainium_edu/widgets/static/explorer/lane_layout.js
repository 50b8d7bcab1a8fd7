// Which lanes a run has, where they stand, and what of the run is under a point of them.

import { rowsOf } from "./film.js";
import { spanAt, upper } from "./spans.js";
import { GUTTER } from "./time_window.js";

const TOP = 24; // pixels for the axis of time
const TALL = { critical: 20, engine: 25, load: 36, queue: 10, port: 13 };
const GAP = { critical: 9, queue: 1, port: 4 };

/** Lay the lanes of a film out; `shown` says whether critical path, queues and ports are wanted. */
export function layOutLanes(film, shown) {
  const lanes = [];
  const laneOf = film.tracks.map(() => -1); // number of a track's lane
  let y = TOP;
  const add = (name, kind, key, tracks, gap = GAP[kind] ?? 5) => {
    const own = tracks.length > 1 ? rowsOf(film, tracks) : film.byTrack[tracks[0]];
    const spans = kind === "critical" ? film.path : own;
    const busy = Math.max(0, ...tracks.map((t) => film.busy[t]));
    for (const t of tracks) laneOf[t] = lanes.length;
    lanes.push({ name, kind, key, tracks, y, height: TALL[kind], spans, busy });
    y += TALL[kind] + gap;
  };
  const ofKind = (kind) => [...film.tracks.keys()].filter((t) => film.tracks[t][2] === kind);
  if (film.path.start.length && shown.critical) add("Critical path", "critical", "", []);
  for (const t of ofKind("engine")) {
    const [name, key, kind] = film.tracks[t];
    add(name.replace(" Engine", ""), kind, key, [t]);
  }
  const queues = ofKind("queue");
  if (queues.length && !shown.queues) add("DMA", "load", "dma", queues);
  else
    for (const t of queues)
      add(film.tracks[t][0].replace("DMA ", ""), "queue", "dma", [t], t === queues.at(-1) ? 6 : 1);
  if (shown.ports)
    for (const t of ofKind("port")) add(film.tracks[t][0], "port", film.tracks[t][1], [t]);
  return { lanes, laneOf, height: y + 2 };
}

/** What is at a point of the picture: a row of the run, a piece of the path, or nothing. */
export function hitLane({ lanes }, film, view, x, y) {
  const lane = lanes.find((l) => y >= l.y - 2 && y < l.y + l.height + 3);
  const nothing = { row: -1, piece: -1, tile: -1 };
  if (!lane || x < GUTTER) return nothing;
  const t = view.t(x);
  const slack = 3 / view.scale;
  const { start, end, row } = lane.spans;
  if (lane.kind === "critical") {
    const piece = upper(start, t) - 1;
    if (piece < 0 || t > end[piece] + slack) return nothing;
    return { ...nothing, row: row[piece], piece };
  }
  let best = spanAt(lane.spans, t, slack);
  if (best < 0 && lane.kind === "engine") {
    const next = upper(start, t); // idle: whoever comes next waits
    if (next < start.length && waitedBy(film, row[next]) >= start[next] - t) best = next;
  }
  return best < 0 ? nothing : { ...nothing, row: row[best], idle: t < start[best] - slack };
}

const waitedBy = (film, row) =>
  film.waitsOf.of(row).reduce((sum, w) => sum + Math.max(0, film.waits_ns[w]), 0);

/** The row beside a row in its lane (`sideways` ±1), or the nearest in the lane above or below. */
export function neighbour({ lanes }, film, view, picked, sideways, down) {
  const usable = lanes.filter((l) => l.spans.start.length && !/critical|port/.test(l.kind));
  if (!usable.length) return -1;
  const at = (list, i) => list[Math.min(list.length - 1, Math.max(0, i))];
  const here = usable.findIndex((l) => l.tracks.includes(film.rows_lane[picked]));
  if (picked < 0 || here < 0) {
    const { start, row } = usable[0].spans;
    return at(row, upper(start, view.lo - 1e-9));
  }
  const { start, row } = at(usable, here + (sideways ? 0 : down)).spans;
  return at(
    row,
    sideways ? row.indexOf(picked) + sideways : upper(start, film.rows_start[picked]) - 1,
  );
}
