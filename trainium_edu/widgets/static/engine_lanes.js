// The engines' lanes: what stood where from when to when, with waits and the critical path.
//
// Only what is in the window is drawn; spans under two pixels merge into shades, so that a run of
// many thousand instructions costs as much as one that fills the screen.  Joined behind core_time.js.

const REASONS = { data: "#7a7a7a", place: "#D55E00", port: "#C9B800", queue: "#56B4E9", order: "#9a8ad0" };
const MERGE_UNDER = 2.4; // pixels

/** Prepare a film for drawing: spans by track, rows by lane. */
function indexFilm(film) {
  const byTrack = film.tracks.map(() => []);
  for (let i = 0; i < film.spans_track.length; i++) byTrack[film.spans_track[i]].push(i);
  film.byTrack = byTrack.map((list) => {
    if (list.some((i, k) => k && film.spans_start[i] < film.spans_start[list[k - 1]])) list.sort((a, b) => film.spans_start[a] - film.spans_start[b]);
    return sortedSpans(list, film.spans_start, film.spans_end, (i) => film.spans_row[i]);
  });
  const rows = film.rows_start.length;
  film.waitsOf = chains(rows, film.waits_row);
  film.piecesOf = chains(rows, film.pieces_row);
  film.mostLoad = film.load.reduce((most, n) => Math.max(most, n), 0);
  film.rowsOf = (tracks) => {
    const list = [];
    for (let r = 0; r < rows; r++) if (tracks.has(film.rows_lane[r])) list.push(r);
    if (list.some((r, k) => k && film.rows_start[r] < film.rows_start[list[k - 1]])) list.sort((a, b) => film.rows_start[a] - film.rows_start[b]);
    return sortedSpans(list, film.rows_start, film.rows_end, (r) => r);
  };
  return film;
}
/** Entries by row, as linked lists in typed arrays: `of(row)` is an array, `first[row]` an entry or -1. */
function chains(rows, rowOf) {
  const first = new Int32Array(rows).fill(-1), next = new Int32Array(rowOf.length).fill(-1);
  for (let i = rowOf.length - 1; i >= 0; i--) if (rowOf[i] >= 0) {
    next[i] = first[rowOf[i]];
    first[rowOf[i]] = i;
  }
  const of = (row) => {
    const list = [];
    for (let i = first[row]; i >= 0; i = next[i]) list.push(i);
    return list;
  };
  return { of, first, next };
}
function sortedSpans(list, starts, ends, rowOf) {
  const spans = { start: new Float64Array(list.length), end: new Float64Array(list.length), until: new Float64Array(list.length), row: new Int32Array(list.length) };
  let until = -Infinity;
  list.forEach((i, k) => {
    spans.start[k] = starts[i];
    spans.end[k] = ends[i];
    spans.until[k] = until = Math.max(until, ends[i]);
    spans.row[k] = rowOf(i);
  });
  return spans;
}

/** The panel: a canvas of lanes.  `s` is the state that all panels share (see timeline_explorer.js). */
function createLanes(s) {
  const canvas = make("canvas", {
    ...focusable(`Engines over time: ${s.label}. Left and right arrows go from instruction to instruction, up and down from lane to lane, Enter zooms in, plus and minus zoom, Home shows the whole run, C goes along the critical path`),
    tabindex: "0", role: "application", class: "te-core-lanes",
  });
  canvas.removeAttribute("title");
  const merger = createMerger(), dim = createMerger(), dark = createMerger();
  const pieceMergers = [];
  let lanes = [];
  let height = 0;
  let laneOf = []; // of a track

  function layout() {
    const film = s.film;
    lanes = [];
    laneOf = film.tracks.map(() => -1);
    let y = 24;
    const add = (name, kind, key, tracks, tall, gap = 5) => {
      const spans = kind === "critical" ? null : tracks.length === 1 ? film.byTrack[tracks[0]] : film.rowsOf(new Set(tracks));
      tracks.forEach((t) => { if (laneOf[t] < 0) laneOf[t] = lanes.length; });
      lanes.push({ name, kind, key, tracks, y, height: tall, spans, busy: tracks.reduce((most, t) => Math.max(most, film.busy?.[t] ?? 0), 0) });
      y += tall + gap;
    };
    if (film.pieces_start.length && s.critical) add("Critical path", "critical", "", [], 20, 9);
    const queues = [];
    film.tracks.forEach(([name, key, kind], t) => {
      if (kind === "queue") queues.push(t);
      else if (kind !== "port") add(name.replace(" Engine", ""), kind, key, [t], kind === "engine" ? 25 : 20);
    });
    if (queues.length && !s.queues) add("DMA", "load", "dma", queues, 36);
    if (queues.length && s.queues) {
      queues.forEach((t, i) => add(film.tracks[t][0].replace("DMA ", ""), "queue", "dma", [t], 10, i === queues.length - 1 ? 6 : 1));
    }
    if (s.ports) film.tracks.forEach(([name, key, kind], t) => kind === "port" && add(name, "port", key, [t], 13, 4));
    height = y + 2;
  }

  function colourOf(track, row) {
    const key = s.film.tracks[track][2] === "port" ? s.film.tracks[s.film.rows_lane[row]]?.[1] : s.film.tracks[track][1];
    return s.colours[key] ?? s.colours.sync;
  }

  function draw() {
    if (!s.film) return;
    const { view, tones, film } = s;
    const width = GUTTER + view.width + RIGHT;
    const c = fitCanvas(canvas, width, height);
    c.clearRect(0, 0, width, height);
    drawTimeAxis(c, view, tones, 18, height - 2);
    for (const lane of lanes) drawGutter(c, lane);
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, view.width, height);
    c.clip();
    if (film.makespan < view.end) after(c, film.makespan);
    for (const lane of lanes) {
      if (lane.kind === "critical") drawPieces(c, lane);
      else if (lane.kind === "load") drawLoad(c, lane);
      else drawSpans(c, lane);
    }
    if (s.critical && film.pieces_start.length) drawLinks(c);
    drawBaseline(c);
    drawPicked(c);
    if (s.cursor >= 0) {
      const x = Math.round(view.x(s.cursor)) + 0.5;
      c.strokeStyle = tones.mark;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, 4);
      c.lineTo(x, height);
      c.stroke();
    }
    c.restore();
  }
  function after(c, ns) {
    const x = s.view.x(ns);
    c.fillStyle = s.tones.soft;
    c.globalAlpha = 0.6;
    c.fillRect(x, 20, GUTTER + s.view.width - x, height - 22);
    c.globalAlpha = 1;
  }
  function drawGutter(c, lane) {
    const { tones } = s;
    const small = lane.height < 16;
    c.textBaseline = "middle";
    c.textAlign = "left";
    if (lane.kind !== "queue") {
      c.fillStyle = lane.kind === "critical" ? tones.ink : s.colours[lane.key] ?? tones.muted;
      c.fillRect(2, lane.y, 4, lane.height);
    }
    c.fillStyle = tones.ink;
    c.font = `${small ? 10 : 12}px ${tones.font}`;
    if (lane.kind === "critical") c.font = `bold 12px ${tones.font}`;
    if (lane.kind === "port") {
      c.fillStyle = tones.muted;
      c.fillText(lane.name.replace("port: ", "").replace(" on ", " · "), 10, lane.y + lane.height / 2, GUTTER - 14);
      return;
    }
    c.fillText(lane.name, 11, lane.y + lane.height / 2 + 0.5 - (lane.kind === "load" ? 6 : 0));
    c.textAlign = "right";
    c.fillStyle = tones.muted;
    c.font = `11px ${tones.font}`;
    if (lane.kind === "engine" || lane.kind === "other") c.fillText(percent(lane.busy / (s.film.makespan || 1)), GUTTER - 8, lane.y + lane.height / 2 + 0.5);
    if (lane.kind === "load") {
      c.textAlign = "left";
      c.fillText("queues at work", 11, lane.y + lane.height / 2 + 9);
      c.textAlign = "right";
      c.fillText(String(lane.tracks.length), GUTTER - 4, lane.y + 4);
      c.fillText("0", GUTTER - 4, lane.y + lane.height - 4);
    }
  }
  function ground(c, lane) {
    c.fillStyle = s.tones.lane;
    c.fillRect(GUTTER, lane.y, s.view.width, lane.height);
  }

  function drawSpans(c, lane) {
    const { view, film, tones } = s;
    const { start, end, until, row } = lane.spans;
    ground(c, lane);
    const lit = s.lit;
    merger.begin(view.width);
    dim.begin(view.width);
    dark.begin(view.width);
    const engine = lane.kind === "engine" || lane.kind === "other";
    const words = engine ? Math.max(10, Math.min(12, lane.height - 10)) : 0;
    const bottom = engine && film.waits_row.length ? 4 : 0;
    const tall = lane.height - bottom - (s.critical && engine ? 3 : 0);
    c.font = `${words}px ${tones.font}`;
    c.textBaseline = "middle";
    c.textAlign = "left";
    const port = lane.kind === "port";
    const { lo, scale } = view;
    const waitFirst = film.waitsOf.first;
    const colour = s.colours[lane.key] ?? s.colours.sync;
    for (let i = upper(until, view.lo); i < start.length && start[i] < view.hi; i++) {
      const x0 = GUTTER + (start[i] - lo) * scale, x1 = GUTTER + (end[i] - lo) * scale;
      const r = row[i];
      const on = !lit || lit(r);
      if (bottom && waitFirst[r] >= 0) drawWait(c, lane, r, x0);
      if (s.critical && engine && film.rows_critical[r]) dark.add(x0 - GUTTER, x1 - GUTTER);
      if (x1 - x0 < MERGE_UNDER && !port) {
        (on ? merger : dim).add(x0 - GUTTER, x1 - GUTTER);
        continue;
      }
      const mine = port ? colourOf(lane.tracks[0], r) : colour;
      c.fillStyle = mine;
      c.globalAlpha = on ? 1 : 0.22;
      const left = Math.max(x0, GUTTER - 2), right = Math.min(x1, GUTTER + view.width + 2);
      c.fillRect(left, lane.y, Math.max(0.6, right - left - (right - left > 5 ? 0.8 : 0)), tall);
      if (words && right - left > 30) {
        const text = s.nameOf(r);
        const most = Math.floor((right - left - 8) / (words * 0.56));
        c.globalAlpha = on ? 1 : 0.5;
        c.fillStyle = on ? letterOn(mine) : tones.ink;
        c.fillText(text.length > most ? (most > 3 ? `${text.slice(0, most - 1)}…` : "") : text, left + 4, lane.y + tall / 2 + 0.5);
      }
      c.globalAlpha = 1;
    }
    dim.paint(c, GUTTER, lane.y, tall, colour, 0.22);
    merger.paint(c, GUTTER, lane.y, tall, colour);
    dark.paint(c, GUTTER, lane.y + tall, 3, tones.ink);
  }
  function drawWait(c, lane, row, x) {
    const { first, next } = s.film.waitsOf;
    let right = x;
    for (let i = first[row]; i >= 0; i = next[i]) {
      const wide = s.film.waits_ns[i] * s.view.scale;
      if (wide < 1) continue;
      const left = Math.max(GUTTER, right - wide);
      c.fillStyle = REASONS[s.film.reasons[s.film.waits_reason[i]].style] ?? REASONS.data;
      c.globalAlpha = 0.7;
      c.fillRect(left, lane.y + lane.height - 4, right - left - 0.5, 3);
      c.globalAlpha = 1;
      right = left;
    }
  }
  function drawLoad(c, lane) {
    const { view, film } = s;
    ground(c, lane);
    const when = film.load_ns, level = film.load;
    const unit = lane.height / Math.max(lane.tracks.length, film.mostLoad);
    const base = lane.y + lane.height;
    c.fillStyle = s.colours.dma;
    c.globalAlpha = s.lit ? 0.3 : 1;
    let i = Math.max(0, upper(when, view.lo) - 1);
    const most = new Float32Array(Math.ceil(view.width) + 2); // area per pixel column
    for (; i < when.length - 1 && when[i] < view.hi; i++) {
      if (!level[i]) continue;
      const x0 = Math.max(0, view.x(when[i]) - GUTTER), x1 = Math.min(view.width, view.x(when[i + 1]) - GUTTER);
      if (x1 - x0 >= 3) c.fillRect(GUTTER + x0, base - level[i] * unit, x1 - x0, level[i] * unit);
      else for (let x = x0; x < x1; ) {
        const next = Math.min(x1, Math.floor(x) + 1);
        most[Math.floor(x)] += (next - x) * level[i];
        x = next;
      }
    }
    for (let p = 0; p < view.width; p++) if (most[p] > 0) c.fillRect(GUTTER + p, base - most[p] * unit, 1, most[p] * unit);
    c.globalAlpha = 1;
    const spans = lane.spans;
    if (s.lit) {
      merger.begin(view.width);
      for (let k = upper(spans.until, view.lo); k < spans.start.length && spans.start[k] < view.hi; k++)
        if (s.lit(spans.row[k])) merger.add(view.x(spans.start[k]) - GUTTER, Math.max(view.x(spans.end[k]), view.x(spans.start[k]) + 1) - GUTTER);
      merger.paint(c, GUTTER, lane.y, lane.height, s.colours.dma);
    }
    if (!s.critical) return;
    dark.begin(view.width);
    for (let k = upper(spans.until, view.lo); k < spans.start.length && spans.start[k] < view.hi; k++)
      if (film.rows_critical[spans.row[k]]) dark.add(view.x(spans.start[k]) - GUTTER, view.x(spans.end[k]) - GUTTER);
    dark.paint(c, GUTTER, base - 3, 3, s.tones.ink);
  }
  function drawPieces(c, lane) {
    const { view, film, tones } = s;
    ground(c, lane);
    c.font = `11px ${tones.font}`;
    c.textBaseline = "middle";
    c.textAlign = "left";
    const groups = []; // merged small pieces, by what and lane
    const { lo, scale } = view;
    for (let i = upper(film.pieces_end, view.lo); i < film.pieces_start.length && film.pieces_start[i] < view.hi; i++) {
      const x0 = GUTTER + (film.pieces_start[i] - lo) * scale, x1 = GUTTER + (film.pieces_end[i] - lo) * scale;
      if (x1 - x0 < MERGE_UNDER) {
        const key = film.pieces_what[i] * film.tracks.length + film.rows_lane[film.pieces_row[i]];
        let group = groups[key];
        if (!group) {
          group = groups[key] = pieceMergers[key] ??= createMerger();
          group.begin(view.width);
          group.colour = s.pieceColour(i);
          group.alpha = film.whats[film.pieces_what[i]].style === "work" ? 1 : 0.55;
        }
        group.add(x0 - GUTTER, x1 - GUTTER);
        continue;
      }
      const what = film.whats[film.pieces_what[i]];
      const colour = s.pieceColour(i);
      const plain = what.style === "work";
      const left = Math.max(x0, GUTTER - 2), right = Math.min(x1, GUTTER + view.width + 2);
      c.fillStyle = plain ? colour : hatch(c, colour, tones.paper);
      c.globalAlpha = s.litPiece && !s.litPiece(i) ? 0.25 : 1;
      c.fillRect(left, lane.y, Math.max(0.6, right - left - (right - left > 5 ? 0.8 : 0)), lane.height);
      const most = Math.floor((right - left - 8) / 6);
      if (most >= what.short.length) {
        const text = what.short;
        if (!plain) {
          c.fillStyle = tones.paper;
          c.globalAlpha = 0.8;
          c.fillRect(left + 2, lane.y + 3, Math.min(right - left - 4, Math.min(most, text.length) * 6 + 5), lane.height - 6);
          c.globalAlpha = 1;
        }
        c.fillStyle = plain ? letterOn(colour) : tones.ink;
        c.fillText(text, left + 4, lane.y + lane.height / 2 + 0.5);
      }
      c.globalAlpha = 1;
    }
    groups.forEach((m) => m.paint(c, GUTTER, lane.y, lane.height, m.colour, m.alpha));
    c.strokeStyle = tones.strong;
    c.strokeRect(view.x(0), lane.y - 0.5, view.x(film.makespan) - view.x(0), lane.height + 1);
  }
  /** Thin lines from lane to lane where the critical path changes engines. */
  function drawLinks(c) {
    const { film, view, tones } = s;
    c.strokeStyle = tones.ink;
    c.lineWidth = 1;
    let last = -99;
    c.beginPath();
    for (let i = upper(film.pieces_end, view.lo); i < film.pieces_start.length && film.pieces_start[i] < view.hi; i++) {
      if (!i) continue;
      const a = lanes[laneOf[film.rows_lane[film.pieces_row[i - 1]]]], b = lanes[laneOf[film.rows_lane[film.pieces_row[i]]]];
      if (!a || !b || a === b) continue;
      const x = Math.round(view.x(film.pieces_start[i])) + 0.5;
      if (x - last < 4) continue;
      last = x;
      const [above, below] = a.y < b.y ? [a, b] : [b, a];
      c.moveTo(x, above.y + above.height - 2);
      c.lineTo(x, below.y + (below === b ? 2 : below.height - 2));
    }
    c.globalAlpha = 0.45;
    c.stroke();
    c.globalAlpha = 1;
  }
  function drawBaseline(c) {
    if (!s.baseline || Math.abs(s.baseline - s.film.makespan) < 1e-9) return;
    const x = Math.round(s.view.x(s.baseline)) + 0.5;
    c.strokeStyle = s.tones.ink;
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(x, 20);
    c.lineTo(x, height);
    c.stroke();
    c.setLineDash([]);
    c.font = `11px ${s.tones.font}`;
    c.fillStyle = s.tones.ink;
    c.textAlign = x > GUTTER + s.view.width - 60 ? "right" : "left";
    c.textBaseline = "bottom";
    c.fillText("before", x + (c.textAlign === "right" ? -4 : 4), height - 3);
  }
  function drawPicked(c) {
    const { film, view } = s;
    const frame = (row, colour) => {
      if (row < 0 || row >= film.rows_start.length) return;
      const x0 = view.x(film.rows_start[row]), x1 = view.x(film.rows_end[row]);
      lanes.forEach((lane) => {
        if (!lane.tracks.includes(film.rows_lane[row]) || lane.kind === "port") return;
        c.strokeStyle = s.tones.paper;
        c.lineWidth = 4;
        c.strokeRect(x0 - 1, lane.y - 1, Math.max(3, x1 - x0 + 2), lane.height + 2);
        c.strokeStyle = colour;
        c.lineWidth = 2;
        c.strokeRect(x0 - 1, lane.y - 1, Math.max(3, x1 - x0 + 2), lane.height + 2);
      });
    };
    if (s.hover.row >= 0) frame(s.hover.row, s.tones.ink);
    frame(s.picked, s.tones.mark);
    if (s.piece >= 0 && lanes[0]?.kind === "critical") {
      const x0 = view.x(film.pieces_start[s.piece]), x1 = view.x(film.pieces_end[s.piece]);
      c.strokeStyle = s.tones.mark;
      c.lineWidth = 2;
      c.strokeRect(x0, lanes[0].y - 1, Math.max(3, x1 - x0), lanes[0].height + 2);
    }
  }

  // ---- what is where ----------------------------------------------------------------------------
  function hit(x, y) {
    const lane = lanes.find((l) => y >= l.y - 2 && y < l.y + l.height + 3);
    const nothing = { row: -1, piece: -1, lane };
    if (!lane || x < GUTTER) return nothing;
    const t = s.view.t(x);
    const slack = 3 / s.view.scale;
    if (lane.kind === "critical") {
      const i = upper(s.film.pieces_start, t) - 1;
      return i >= 0 && t <= s.film.pieces_end[i] + slack ? { row: s.film.pieces_row[i], piece: i, lane } : nothing;
    }
    const { start, end, row } = lane.spans;
    const i = upper(start, t) - 1;
    let best = -1, far = slack;
    for (let k = Math.min(start.length - 1, i + 1); k >= 0 && k > i - 40; k--) {
      const away = Math.max(0, start[k] - t, t - end[k]);
      if (away < far || (away === 0 && best < 0)) {
        best = k;
        far = away;
        if (!away) break;
      }
    }
    if (best < 0 && i + 1 < start.length && lane.kind === "engine") { // idle: whoever comes next waits
      const waited = s.film.waitsOf.of(row[i + 1]).reduce((sum, w) => sum + Math.max(0, s.film.waits_ns[w]), 0);
      if (waited >= start[i + 1] - t) best = i + 1;
    }
    return best < 0 ? nothing : { row: row[best], piece: -1, lane, idle: t < start[best] - slack };
  }
  /** The next row in the same lane (`way` ±1), or the nearest in the next lane with any. */
  function neighbour(row, sideways, down) {
    const usable = lanes.filter((l) => l.spans?.start.length && l.kind !== "port");
    if (!usable.length) return -1;
    let at = usable.findIndex((l) => l.tracks.includes(s.film.rows_lane[row]));
    if (row < 0 || at < 0) {
      const lane = usable[0];
      return lane.spans.row[Math.min(lane.spans.row.length - 1, Math.max(0, upper(lane.spans.start, s.view.lo - 1e-9)))];
    }
    if (sideways) {
      const { row: rows } = usable[at].spans;
      const i = rows.indexOf(row);
      return rows[Math.min(rows.length - 1, Math.max(0, i + sideways))];
    }
    at = Math.min(usable.length - 1, Math.max(0, at + down));
    const { start, row: rows } = usable[at].spans;
    return rows[Math.max(0, upper(start, s.film.rows_start[row]) - 1)];
  }
  return { element: canvas, layout, draw, hit, neighbour, get height() { return height; }, get lanes() { return lanes; } };
}
