// The timeline explorer: engines, DMA queues, ports, memories and source of one run on one clock.
//
// Everything shown was worked out in Python: the book (what does not change with time) comes once, a
// film (one timing) comes again whenever a slider moves.  Only where to draw is decided here.
// Joined behind playback.js and the core_*.js parts.

let explorers = 0;

function render({ model, el }) {
  const panels = model.get("panels");
  const s = {
    id: `te-core-${++explorers}`, label: model.get("label"), panels, colours: model.get("colours"),
    film: null, book: null, view: null, tones: null, baseline: 0, knows: false,
    picked: -1, piece: -1, tile: -1, line: -1, cursor: -1, hover: { row: -1, piece: -1, tile: -1 },
    critical: true, queues: false, ports: model.get("ports"), allMemory: false,
    lit: null, litTile: null, litPiece: null,
    nameOf(row) {
      const i = s.film.rows_instruction[row];
      return s.book ? s.book.names[s.book.i_name[i]] : s.film.labels[row];
    },
    pieceColour(p) {
      const what = s.film.whats[s.film.pieces_what[p]];
      return what.colour ?? s.colours[s.film.tracks[s.film.rows_lane[s.film.pieces_row[p]]]?.[1]] ?? s.colours.sync;
    },
    setLine(line) {
      s.line = line;
      s.picked = s.piece = s.tile = -1;
      chosen();
    },
  };
  s.view = createWindow(() => {
    paint();
    share();
  });

  // ---- parts -------------------------------------------------------------------------------------
  const withTime = panels.includes("timeline"), withMemory = panels.includes("memory"), withSource = panels.includes("source");
  const lanes = withTime ? createLanes(s) : null;
  const memory = withMemory ? createMemory(s) : null;
  const source = withSource ? createSource(s) : null;
  const cards = createCards(s);
  const title = make("div", { class: "te-core-title" });
  const result = make("div", { class: "te-core-result", "aria-live": "polite" });
  const button = (name, text, action, more = {}) => make("button", { ...focusable(`${name}: ${s.label}`), type: "button", class: "te-button", on: { click: action }, ...more }, text);
  const toggle = (name, text, key) => {
    const b = button(name, text, () => {
      s[key] = !s[key];
      b.setAttribute("aria-pressed", String(s[key]));
      relayout();
    }, { "aria-pressed": String(s[key]), class: "te-button te-core-toggle" });
    return b;
  };
  const tools = make("div", { class: "te-core-tools", role: "group", "aria-label": `What is shown: ${s.label}` },
    button("Zoom in", "+", () => s.view.zoom(1.6)), button("Zoom out", "−", () => s.view.zoom(1 / 1.6)), button("Show the whole run", "whole run", () => s.view.whole()));
  const criticalButton = toggle("Critical path", "critical path", "critical");
  const queueButton = toggle("All DMA queues", "DMA queues", "queues");
  const portButton = toggle("Shared ports", "ports", "ports");
  const memoryButton = toggle("Memory up to its capacity", "all of SBUF", "allMemory");
  const overview = make("canvas", { class: "te-core-overview", "aria-hidden": "true" });
  const hint = make("div", { class: "te-core-hint" });
  const tip = make("div", { class: "te-core-tip", "aria-hidden": "true" });
  const details = make("div", { class: "te-core-details" });
  const live = make("div", { class: "te-core-live", "aria-live": "polite" });
  const legend = make("div", { class: "te-core-legend" });
  const time = make("div", { class: "te-core-time" }, ...(withTime ? [overview, lanes.element] : []), ...(withMemory ? [memory.element] : []));
  const body = make("div", { class: "te-core-body" }, ...(withSource ? [source.element] : []), make("div", { class: "te-core-right" }, time, legend));
  const knobs = make("div", { class: "te-core-knobs", role: "group", "aria-label": `What if: ${s.label}` });
  const root = make("div", { class: "te-core", role: "group", "aria-label": s.label },
    make("div", { class: "te-core-head" }, title, tools), knobs, result, body, hint, details, live, tip);
  el.append(root);

  // ---- sliders: values go to Python, a new timing comes back --------------------------------------
  let values = { ...model.get("knobs") }, waiting = 0, again = false, asked = 0;
  const inputs = {};
  function buildKnobs() {
    const list = model.get("sliders");
    knobs.hidden = !list.length;
    knobs.replaceChildren(...list.map(({ name, text, options, help }) => {
      const input = make("input", {
        ...focusable(text), title: help, type: "range", min: 0, max: options.length - 1, step: 1,
        on: { input: () => {
          read();
          send({ [name]: options[Number(input.value)][0] });
        }, keydown: (event) => event.stopPropagation() },
      });
      const out = make("output", {});
      const read = () => {
        out.textContent = options[Number(input.value)][1];
        input.setAttribute("aria-valuetext", out.textContent);
      };
      inputs[name] = { set: (value) => {
        const at = options.findIndex(([v]) => v === value);
        input.value = String(at < 0 ? 0 : at);
        read();
      }, input };
      return make("label", { class: "te-core-knob" }, make("span", {}, text), input, out);
    }));
    if (!list.length) return;
    if (model.get("switches").length) knobs.append(make("span", { class: "te-core-without" }, "without"));
    for (const { name, text, help } of model.get("switches")) {
      const input = make("input", { ...focusable(`Without ${text}`), title: help, type: "checkbox", on: { change: () => send({ [name]: input.checked }) } });
      inputs[name] = { set: (value) => { input.checked = Boolean(value); }, input };
      knobs.append(make("label", { class: "te-core-knob te-core-switch" }, input, make("span", {}, text)));
    }
    knobs.append(button("As recorded", "reset", () => send({ ...model.get("first") })));
    showKnobs();
  }
  function showKnobs() {
    for (const [name, { set, input }] of Object.entries(inputs)) if (!(again && input === document.activeElement)) set(values[name]);
  }
  function send(change) {
    Object.assign(values, change);
    if (Object.keys(change).length) showKnobs();
    if (waiting) {
      again = true;
      return;
    }
    waiting = setTimeout(answered, 4000);
    asked = performance.now();
    model.set("knobs", { ...values, ask: (values.ask || 0) + 1 });
    values.ask = (values.ask || 0) + 1;
    model.save_changes();
  }
  function answered() {
    clearTimeout(waiting);
    waiting = 0;
    if (again) {
      again = false;
      send({});
    }
  }

  // ---- data ----------------------------------------------------------------------------------------
  function takeBook() {
    const data = model.get("book");
    s.book = data && data.byteLength ? unpack(data) : null;
    if (s.book) s.book.touches = (i, a) => {
      for (let k = s.book.a_first[i]; k < s.book.a_first[i + 1]; k++) if (s.book.a_allocation[k] === a) return true;
      return false;
    };
  }
  function takeFilm() {
    const before = s.film;
    const film = indexFilm(unpack(model.get("film")));
    s.film = film;
    if (!before) s.baseline = film.baseline || film.makespan;
    const end = Math.max(film.makespan, s.baseline) * 1.01 || 1;
    const whole = !before || s.view.isWhole;
    s.view.end = end;
    if (before && film.rows_start.length !== before.rows_start.length) s.picked = -1;
    if (s.picked >= film.rows_start.length) s.picked = -1;
    s.piece = s.tile = -1;
    s.hover = { row: -1, piece: -1, tile: -1 };
    title.textContent = film.title;
    queueButton.hidden = !film.tracks.some((t) => t[2] === "queue");
    portButton.hidden = !film.tracks.some((t) => t[2] === "port");
    criticalButton.hidden = !film.pieces_start.length;
    tellResult();
    buildLegend();
    light();
    if (whole) Object.assign(s.view, { lo: 0, hi: end });
    else s.view.hi = Math.min(s.view.hi, end);
    relayout();
    if (asked) root.dataset.answered = String(Math.round(performance.now() - asked));
    root.dataset.films = String(Number(root.dataset.films || 0) + 1);
    root.dataset.makespan = film.makespan.toFixed(3);
    values = { ...values, ...Object.fromEntries(Object.entries(model.get("knobs")).filter(([k]) => !again || k === "ask")) };
    showKnobs();
    answered();
  }
  function tellResult() {
    const { film } = s;
    const parts = [make("b", {}, nsText(film.makespan, 4))];
    if (film.band) parts.push(` (between ${nsText(film.band[0])} and ${nsText(film.band[1])})`);
    if (film.note) parts.push(`; ${film.note}`);
    const change = film.makespan / s.baseline;
    if (Math.abs(change - 1) > 1e-9) parts.push(change < 1 ? `: ${(1 / change).toPrecision(3)} × faster than before, ${nsText(s.baseline, 4)}` : `: ${change.toPrecision(3)} × slower than before, ${nsText(s.baseline, 4)}`);
    if (film.refused) parts.splice(0, parts.length, film.refused);
    result.replaceChildren(...parts);
    result.classList.toggle("te-core-refused", Boolean(film.refused));
  }
  function buildLegend() {
    const { film } = s;
    const item = (style, text) => make("span", {}, make("i", { style }), text);
    const list = [];
    if (withTime && film.waits_row.length) for (const reason of dedupe([...new Set(film.waits_reason.filter((_, i) => film.waits_ns[i] > 0))].filter((k) => film.reasons[k].style !== "queue").map((k) => film.reasons[k]))) list.push(item(`background:${REASONS[reason.style] ?? REASONS.data};height:4px`, reason.legend));
    if (withTime && film.pieces_start.length) list.push(item(`background:${s.tones?.ink ?? "currentColor"};height:3px`, "on the critical path"));
    legend.replaceChildren(...list);
  }
  const dedupe = (reasons) => [...new Map(reasons.map((r) => [r.legend, r])).values()];

  // ---- what is lit ----------------------------------------------------------------------------------
  function light() {
    const { film, book } = s;
    s.lit = s.litTile = s.litPiece = null;
    if (!book) return;
    const instruction = s.picked >= 0 ? film.rows_instruction[s.picked] : -1;
    if (s.line >= 0) {
      const made = new Set(book.allocations.map((a, k) => [a, k]).filter(([a]) => a.line === s.line).map(([, k]) => k));
      const wanted = new Uint8Array(book.i_line.length);
      for (let i = 0; i < wanted.length; i++) {
        if (book.i_line[i] === s.line || book.i_call[i] === s.line) wanted[i] = 1;
        else if (made.size) for (let k = book.a_first[i]; k < book.a_first[i + 1]; k++) if (made.has(book.a_allocation[k])) wanted[i] = 1;
      }
      s.lit = (r) => film.rows_instruction[r] >= 0 && wanted[film.rows_instruction[r]] === 1;
      s.litPiece = (p) => s.lit(film.pieces_row[p]);
      const touched = new Set(made);
      if (!made.size) for (let i = 0; i < wanted.length; i++) if (wanted[i]) for (let k = book.a_first[i]; k < book.a_first[i + 1]; k++) touched.add(book.a_allocation[k]);
      s.litTile = (i) => touched.has(film.tiles_allocation[i]);
    } else if (s.tile >= 0) {
      const a = film.tiles_allocation[s.tile];
      const from = film.tiles_start[s.tile], to = film.tiles_end[s.tile];
      s.lit = (r) => film.rows_instruction[r] >= 0 && film.rows_start[r] >= from - 1e-6 && film.rows_end[r] <= to + 1e-6 && book.touches(film.rows_instruction[r], a);
      s.litTile = (i) => i === s.tile;
    } else if (instruction >= 0 && withMemory) {
      const touched = new Set();
      for (let k = book.a_first[instruction]; k < book.a_first[instruction + 1]; k++) touched.add(book.a_allocation[k]);
      const from = film.rows_start[s.picked], to = film.rows_end[s.picked];
      s.litTile = (i) => touched.has(film.tiles_allocation[i]) && film.tiles_start[i] <= from + 1e-6 && film.tiles_end[i] >= to - 1e-6;
    }
  }
  /** Something was picked: mark it everywhere and say it. */
  function chosen() {
    light();
    root.dataset.lit = String(s.film.rows_start.length && s.lit ? s.film.rows_start.reduce((n, _, r) => n + s.lit(r), 0) : s.film.rows_start.length);
    tell();
    source?.mark();
    paint();
    model.set("picked", s.picked);
    model.set("picked_line", s.line >= 0 ? s.book.lines[s.line].line : 0);
    model.save_changes();
  }
  function pick(row, piece = -1, tile = -1) {
    Object.assign(s, { picked: row, piece, tile, line: -1 });
    if (row >= 0) {
      const from = s.film.rows_start[row], to = s.film.rows_end[row];
      if (to < s.view.lo || from > s.view.hi) s.view.show((from + to) / 2 - s.view.span / 2, (from + to) / 2 + s.view.span / 2);
    }
    chosen();
  }
  function tell() {
    if (!s.film) return;
    let left = [], right = [];
    if (s.tile >= 0) left = cards.tile(s.tile);
    else if (s.picked >= 0) {
      left = cards.instruction(s.picked, true);
      const pieces = s.piece >= 0 ? [s.piece] : s.film.piecesOf.of(s.picked);
      right = pieces.length ? pieces.flatMap((p) => cards.piece(p)) : s.film.pieces_start.length ? [make("div", { class: "te-core-name" }, "Not on the critical path"), make("div", {}, "If it were faster, the run would take as long as before.")] : [];
    } else {
      left = cards.whole();
      right = cards.kinds();
    }
    details.replaceChildren(make("div", {}, ...left), make("div", {}, ...right));
    details.hidden = !left.length && !right.length;
    live.textContent = s.picked >= 0 || s.tile >= 0 ? [...details.querySelectorAll(".te-core-name, .te-core-where, .te-core-fact")].map((e) => e.textContent).join(". ") : "";
  }

  // ---- drawing ---------------------------------------------------------------------------------------
  let frame = 0;
  function paint() {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const start = performance.now();
      lanes?.draw();
      memory?.draw();
      if (withTime) drawOverview();
      root.dataset.draw = (performance.now() - start).toFixed(2);
      root.dataset.window = `${s.view.lo.toFixed(3)} ${s.view.hi.toFixed(3)}`;
      root.dataset.cursor = s.cursor.toFixed(3);
    });
  }
  function relayout() {
    if (!s.film) return;
    lanes?.layout();
    memory?.layout();
    source?.layout();
    tell();
    paint();
  }
  const overviewMerger = createMerger();
  const wholeRun = document.createElement("canvas"); // the overview without its window, drawn once
  let wholeFor = "";
  function drawOverview() {
    const { film, view, tones } = s;
    const tracks = film.tracks.map((t, i) => [t, i]).filter(([t]) => t[2] === "engine" || t[2] === "other");
    const tall = Math.max(2, Math.min(5, 40 / (tracks.length + 1))), high = (tracks.length + 1) * (tall + 1) + 6;
    const key = [root.dataset.films, view.width, view.end, tones.lane, window.devicePixelRatio].join(" ");
    if (key !== wholeFor) drawWholeRun(tracks, tall, high);
    wholeFor = key;
    const c = fitCanvas(overview, GUTTER + view.width + RIGHT, high);
    c.clearRect(0, 0, GUTTER + view.width + RIGHT, high);
    c.drawImage(wholeRun, 0, 0, GUTTER + view.width + RIGHT, high);
    const scale = view.width / view.end;
    c.fillStyle = tones.paper;
    c.globalAlpha = 0.65;
    const a = GUTTER + view.lo * scale, b = GUTTER + view.hi * scale;
    c.fillRect(GUTTER, 0, a - GUTTER, high);
    c.fillRect(b, 0, GUTTER + view.width - b, high);
    c.globalAlpha = 1;
    c.strokeStyle = tones.ink;
    c.lineWidth = 1.5;
    c.strokeRect(a + 0.75, 0.75, Math.max(3, b - a - 1.5), high - 1.5);
    c.fillStyle = tones.muted;
    c.font = `11px ${tones.font}`;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.fillText(view.isWhole ? "whole run" : `${percent(view.span / view.end)} of the run`, 4, high / 2);
  }
  function drawWholeRun(tracks, tall, high) {
    const { film, view, tones } = s;
    const c = fitCanvas(wholeRun, GUTTER + view.width + RIGHT, high);
    c.clearRect(0, 0, GUTTER + view.width + RIGHT, high);
    const scale = view.width / view.end;
    c.fillStyle = tones.lane;
    c.fillRect(GUTTER, 0, view.width, high);
    let y = 3;
    const line = (spans, colour) => {
      overviewMerger.begin(view.width);
      for (let i = 0; i < spans.start.length; i++) overviewMerger.add(spans.start[i] * scale, spans.end[i] * scale);
      overviewMerger.paint(c, GUTTER, y, tall, colour);
      y += tall + 1;
    };
    for (const [[, key], i] of tracks) line(film.byTrack[i], s.colours[key] ?? s.colours.sync);
    overviewMerger.begin(view.width);
    for (let i = 0; i + 1 < film.load_ns.length; i++) if (film.load[i]) overviewMerger.add(film.load_ns[i] * scale, film.load_ns[i + 1] * scale);
    overviewMerger.paint(c, GUTTER, y, tall, s.colours.dma);
  }

  // ---- mouse -----------------------------------------------------------------------------------------
  function hovering(canvas, event, find) {
    const found = find(event.offsetX, event.offsetY);
    const t = event.offsetX >= GUTTER && event.offsetX <= GUTTER + s.view.width ? s.view.t(event.offsetX) : -1;
    s.cursor = t;
    const changed = found.row !== s.hover.row || found.piece !== s.hover.piece || found.tile !== s.hover.tile;
    s.hover = found;
    if (changed) {
      const shown = found.tile >= 0 ? cards.tile(found.tile) : found.piece >= 0 ? cards.piece(found.piece) : found.row >= 0 ? cards.instruction(found.row, false, found.idle) : [];
      tip.replaceChildren(...shown);
      tip.classList.toggle("te-core-shown", shown.length > 0);
      source?.mark();
    }
    canvas.style.cursor = found.row >= 0 || found.tile >= 0 ? "pointer" : "grab";
    placeTip(event);
    share();
    paint();
  }
  function placeTip(event) {
    const box = root.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    tip.style.left = `${Math.max(0, x + 18 + wide > box.width ? x - wide - 14 : x + 18)}px`;
    const below = event.clientY + 20 + high < window.innerHeight;
    tip.style.top = `${below ? y + 18 : Math.max(0, y - high - 14)}px`;
  }
  function leave() {
    s.hover = { row: -1, piece: -1, tile: -1 };
    s.cursor = -1;
    tip.classList.remove("te-core-shown");
    source?.mark();
    share();
    paint();
  }
  function mouse(canvas, find) {
    let drag = null;
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const moved = event.offsetX - drag.x;
        if (Math.abs(moved) > 3) drag.moved = true;
        if (drag.moved) {
          tip.classList.remove("te-core-shown");
          canvas.style.cursor = "grabbing";
          s.view.show(drag.lo - moved / s.view.scale, drag.hi - moved / s.view.scale);
        }
        return;
      }
      hovering(canvas, event, find);
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, lo: s.view.lo, hi: s.view.hi, moved: false };
    });
    canvas.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (!was || was.moved) return;
      const found = find(event.offsetX, event.offsetY);
      if (found.tile >= 0 || found.row >= 0) pick(found.row, found.piece, found.tile);
      else pick(-1);
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { if (!drag) leave(); });
    canvas.addEventListener("dblclick", () => s.picked >= 0 && closeUp());
    canvas.addEventListener("wheel", (event) => {
      const wanted = event.ctrlKey || event.metaKey || document.activeElement === canvas;
      if (!wanted) return; // the page scrolls until the picture was clicked
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) s.view.pan(((event.deltaX || event.deltaY) * 0.8) / s.view.scale);
      else s.view.zoom(Math.exp(-event.deltaY * 0.0016), s.view.t(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", key);
  }
  function closeUp() {
    const from = s.film.rows_start[s.picked], to = s.film.rows_end[s.picked];
    const span = Math.max(8 * (to - from), 20);
    s.view.show((from + to - span) / 2, (from + to + span) / 2);
  }
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onMemory = event.currentTarget === memory?.element;
    const step = (sideways, down) => (onMemory
      ? pick(-1, -1, memory.neighbour(s.tile, sideways || down))
      : pick(lanes.neighbour(s.picked, sideways, down)));
    const shifted = event.shiftKey;
    const actions = {
      ArrowLeft: () => (shifted ? s.view.pan(-s.view.span * 0.2) : step(-1, 0)),
      ArrowRight: () => (shifted ? s.view.pan(s.view.span * 0.2) : step(1, 0)),
      ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
      "+": () => s.view.zoom(1.6, focusTime()), "=": () => s.view.zoom(1.6, focusTime()), "-": () => s.view.zoom(1 / 1.6, focusTime()),
      w: () => s.view.zoom(1.6, focusTime()), s: () => s.view.zoom(1 / 1.6, focusTime()),
      a: () => s.view.pan(-s.view.span * 0.2), d: () => s.view.pan(s.view.span * 0.2),
      Home: () => s.view.whole(), 0: () => s.view.whole(),
      Enter: () => s.picked >= 0 && closeUp(),
      c: () => nextPiece(1), C: () => nextPiece(-1),
      Escape: () => pick(-1),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  }
  const focusTime = () => (s.cursor >= 0 ? s.cursor : s.picked >= 0 ? (s.film.rows_start[s.picked] + s.film.rows_end[s.picked]) / 2 : undefined);
  function nextPiece(way) {
    const count = s.film.pieces_start.length;
    if (!count) return;
    const p = s.piece < 0 ? upper(s.film.pieces_end, s.view.lo) : Math.min(count - 1, Math.max(0, s.piece + way));
    pick(s.film.pieces_row[p], p);
  }
  if (lanes) mouse(lanes.element, (x, y) => ({ tile: -1, ...lanes.hit(x, y) }));
  if (memory) mouse(memory.element, (x, y) => ({ row: -1, piece: -1, tile: memory.hit(x, y) }));
  let sliding = null;
  overview.addEventListener("pointerdown", (event) => {
    overview.setPointerCapture(event.pointerId);
    const t = ((event.offsetX - GUTTER) / s.view.width) * s.view.end;
    if (s.view.isWhole) s.view.show(t - s.view.end / 16, t + s.view.end / 16);
    else if (t < s.view.lo || t > s.view.hi) s.view.show(t - s.view.span / 2, t + s.view.span / 2);
    sliding = { t, lo: s.view.lo, hi: s.view.hi };
  });
  overview.addEventListener("pointermove", (event) => {
    if (!sliding) return;
    const by = ((event.offsetX - GUTTER) / s.view.width) * s.view.end - sliding.t;
    s.view.show(sliding.lo + by, sliding.hi + by);
  });
  for (const end of ["pointerup", "pointercancel"]) overview.addEventListener(end, () => { sliding = null; });
  overview.addEventListener("dblclick", () => s.view.whole());

  // ---- one clock with other pictures: window and cursor are traits that Python may link --------------
  // Set and saved in one go: what is set but not yet saved would be undone by the kernel's echo of
  // what was saved before, so that the picture jumps back while a busy kernel catches up.
  let sharing = 0;
  function share() {
    if (!sharing) sharing = setTimeout(() => {
      sharing = 0;
      model.set("window", [s.view.lo, s.view.hi]);
      model.set("cursor_ns", s.cursor);
      model.save_changes();
    }, 50);
  }
  const onCursor = () => {
    if (model.get("cursor_ns") === s.cursor) return;
    s.cursor = model.get("cursor_ns");
    paint();
  };
  const onWindow = () => {
    const [lo, hi] = model.get("window");
    if (!(hi > lo) || (Math.abs(lo - s.view.lo) < 1e-6 && Math.abs(hi - s.view.hi) < 1e-6)) return;
    s.view.show(lo, hi);
  };
  const onPicked = () => {
    const row = model.get("picked");
    if (row !== s.picked && row < s.film.rows_start.length) pick(row);
  };

  // ---- beginning and end -------------------------------------------------------------------------------
  let themed = false;
  function resize() {
    if (!themed && root.isConnected) {
      themed = true;
      retheme();
    }
    const width = time.clientWidth - GUTTER - RIGHT;
    if (width < 40 || Math.abs(width - s.view.width) < 1) return;
    s.view.width = width;
    paint();
  }
  const retheme = () => {
    s.tones = readTones(root);
    hatches.clear();
    if (s.film) buildLegend();
    paint();
  };
  if (withTime) tools.append(criticalButton, queueButton, portButton);
  if (withMemory) tools.append(memoryButton);
  hint.textContent = "Wheel or + and − zoom (click the picture first), drag moves, arrow keys go from one to the next, Enter zooms in, C follows the critical path.";
  if (!withTime) hint.textContent = "Wheel or + and − zoom (click the picture first), drag moves, arrow keys go from tile to tile.";
  retheme();
  s.view.width = Math.max(200, time.clientWidth - GUTTER - RIGHT);
  takeBook();
  buildKnobs();
  takeFilm();
  const [lo, hi] = model.get("window");
  if (hi > lo) s.view.show(lo, hi);
  const listen = { book: () => (takeBook(), takeFilm()), film: takeFilm, cursor_ns: onCursor, window: onWindow, picked: onPicked, sliders: buildKnobs };
  for (const [name, f] of Object.entries(listen)) model.on(`change:${name}`, f);
  const themes = new MutationObserver(retheme);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const sizes = new ResizeObserver(resize);
  sizes.observe(time);
  return () => {
    for (const [name, f] of Object.entries(listen)) model.off(`change:${name}`, f);
    themes.disconnect();
    sizes.disconnect();
    cancelAnimationFrame(frame);
    [waiting, sharing].forEach(clearTimeout);
  };
}

export default { render };
