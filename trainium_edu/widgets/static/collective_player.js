// The collective player: chunks move over a topology, buffers fill, links warm up.
//
// Everything shown comes from one film (see viz/collective_film.py): a header in JSON and plain
// arrays behind it.  A position p in [0, steps] means: floor(p) steps are done and the next one is
// frac(p) of its way.  Nothing is computed here but where to draw.  Joined behind playback.js.

const FILM_TYPES = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array,
};

/** Split the bytes of a film into its header and its arrays. */
function readFilm(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const film = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  for (const [name, [type, offset, count]] of Object.entries(film.arrays)) {
    film[name] = new FILM_TYPES[type](bytes.buffer, 4 + size + offset, count);
  }
  film.linkCount = film.links.length / 3;
  film.wireCount = film.wires.length / 2;
  film.byStep = Array.from({ length: film.steps }, () => []);
  for (let m = 0; m < film.msg_step.length; m++) film.byStep[film.msg_step[m]].push(m);
  film.chunksOf = (m) => film.msg_chunks.subarray(film.msg_chunks_start[m], film.msg_chunks_start[m + 1]);
  film.pathOf = (m) => film.msg_path.subarray(film.msg_path_start[m], film.msg_path_start[m + 1]);
  film.chipOf = (rank) => Math.floor(rank / film.ranks_per_chip);
  film.held = (step, rank, chunk) => film.have[(step * film.ranks + rank) * film.chunks + chunk];
  return film;
}

const microseconds = (ns) => {
  const us = ns / 1000;
  return us >= 10000 ? `${(us / 1000).toFixed(1)} ms` : us >= 100 ? `${us.toFixed(0)} µs` : `${us.toFixed(us >= 10 ? 1 : 2)} µs`;
};
const sizeText = (bytes) => {
  for (const [unit, scale] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= scale) return `${Number((bytes / scale).toPrecision(3))} ${unit}`;
  }
  return `${Math.round(bytes)} B`;
};
const mix = (a, b, t) => a + (b - a) * t;
const ease = (t) => (t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2);
const listed = (numbers, most = 6) =>
  numbers.length <= most ? numbers.join(", ") : `${numbers.slice(0, most - 1).join(", ")} … ${numbers[numbers.length - 1]}`;

function render({ model, el }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  let film = readFilm(model.get("film"));
  let at = 0; // what is on screen
  let layoutFrom = null; // morph: from these places
  let layoutName = film.layouts[model.get("layout_name")] ? model.get("layout_name") : Object.keys(film.layouts)[0];
  let morph = 1;
  let morphStart = 0;
  let morphRequest = 0;
  let stepRequest = 0;
  let picked = null; // {kind: "chip" | "wire", index}
  let heat = "step";
  let tones = {};
  let strip = null; // the utilisation strip, drawn once
  const sprites = new Map(); // tokens, drawn once
  const ofStep = new Map(); // faces of chips and the buffers, drawn once a step
  let stepDrawn = -1;
  let size = { stage: 0, height: 0, cells: 0, width: 0 };
  let places = []; // chip centres, in CSS pixels
  let curves = []; // wires as quadratic curves, in CSS pixels

  // ---- the elements ------------------------------------------------------------------------
  const root = make("div", { class: "te-coll", role: "group", on: { keydown: (e) => player.onKey(e) } });
  const title = make("div", { class: "te-coll-title" });
  const layoutRow = make("div", { class: "te-coll-layouts", role: "radiogroup", "aria-label": "Drawn as" });
  const heatPick = make("select", {
    ...focusable("Link heat"), class: "te-speed", on: { change: () => { heat = heatPick.value; draw(); } },
  }, make("option", { value: "step" }, "heat: this step"), make("option", { value: "sofar" }, "heat: busy so far"));
  const top = make("div", { class: "te-coll-top" }, title, layoutRow, heatPick);
  const stage = make("canvas", { role: "img" });
  const chipSpots = make("div", { class: "te-coll-spots", role: "group" });
  const wireSpots = make("div", { class: "te-coll-spots", role: "group" });
  const stageBox = make("div", { class: "te-coll-stage" }, stage, wireSpots, chipSpots);
  const cells = make("canvas", { role: "img" });
  const cellBox = make("div", { class: "te-coll-cells" }, cells);
  const body = make("div", { class: "te-coll-body" }, stageBox, cellBox);
  const caption = make("div", { class: "te-coll-caption" });
  const band = make("canvas", { role: "img", class: "te-coll-band" });
  const story = make("div", { class: "te-coll-story", role: "status", "aria-live": "polite" });
  const player = createPlayback({
    frames: film.steps + 1, label: "collective", framesPerSecond: 1.25, onFrame,
    describe: (k) => `step ${k} / ${film.steps}`,
  });
  root.append(top, player.element, caption, body, band, story);
  el.append(root);

  function buildFilm() {
    root.setAttribute("aria-label", `Collective player: ${film.title}`);
    title.textContent = film.title;
    layoutRow.replaceChildren(...Object.entries(film.layouts).map(([name, layout]) => make("button", {
      ...focusable(`Draw as ${layout.label}`), type: "button", class: "te-button", role: "radio",
      "aria-checked": String(name === layoutName), "data-layout": name, on: { click: () => showLayout(name) },
    }, layout.label)));
    layoutRow.style.display = Object.keys(film.layouts).length > 1 ? "" : "none";
    chipSpots.setAttribute("aria-label", "Chips: arrow keys move, the history is below");
    wireSpots.setAttribute("aria-label", "Links: arrow keys move, the history is below");
    chipSpots.replaceChildren(...Array.from({ length: film.chips }, (_, i) => spot("chip", i, chipName(i))));
    wireSpots.replaceChildren(...Array.from({ length: film.wireCount }, (_, i) => spot("wire", i, wireName(i))));
    picked = null;
    strip = null;
    fit();
    tellStory();
  }
  const ranksOf = (chip) => Array.from({ length: film.ranks_per_chip }, (_, j) => chip * film.ranks_per_chip + j);
  const chipName = (chip) =>
    film.ranks_per_chip === 1 ? `chip ${chip}` : `chip ${chip}, ranks ${listed(ranksOf(chip))}`;
  const wireName = (wire) => `link ${film.wires[2 * wire]} – ${film.wires[2 * wire + 1]}`;

  /** An invisible button over a chip or a link: hover and focus both tell its history. */
  function spot(kind, index, name) {
    const pick = () => choose({ kind, index });
    return make("button", {
      ...focusable(name), type: "button", class: `te-coll-spot te-coll-${kind}`, tabindex: index === 0 ? 0 : -1,
      on: { focus: pick, click: pick, keydown: (e) => rove(e, kind, index) },
    });
  }
  /** Arrow keys move within the chips or the links to the nearest one in that direction. */
  function rove(event, kind, index) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const box = kind === "chip" ? chipSpots : wireSpots;
    const centre = kind === "chip" ? (i) => places[i] : (i) => onCurve(curves[i], 0.5);
    const [x, y] = centre(index);
    let best = -1, bestCost = Infinity;
    for (let i = 0; i < box.children.length; i++) {
      const [u, v] = centre(i);
      const along = (u - x) * way[0] + (v - y) * way[1];
      const across = Math.abs((u - x) * way[1]) + Math.abs((v - y) * way[0]);
      if (along > 1 && along + 2.5 * across < bestCost) { best = i; bestCost = along + 2.5 * across; }
    }
    if (best < 0) return;
    for (const child of box.children) child.tabIndex = -1;
    box.children[best].tabIndex = 0;
    box.children[best].focus();
  }
  function choose(what) {
    if (what && picked && what.kind === picked.kind && what.index === picked.index) return;
    picked = what;
    tellStory();
    draw();
    model.set("picked", what ? `${what.kind} ${what.index}` : "");
    model.save_changes();
  }

  // ---- where things stand --------------------------------------------------------------------
  function fit() {
    readTones(); // the page's colours are known only once this stands on it
    const width = Math.max(320, Math.floor(root.clientWidth) - 2);
    const wide = width >= 760;
    const stageWidth = wide ? Math.round(width * 0.55) : width;
    const height = Math.round(Math.min(stageWidth * 0.86, 470));
    const cellWidth = wide ? width - stageWidth - 12 : width;
    const cellHeight = wide ? height : Math.round(Math.min(height, 60 + film.ranks * (film.ranks <= 8 ? 56 : 22)));
    size = { width, stage: stageWidth, height, cells: cellWidth, cellHeight };
    body.classList.toggle("te-coll-wide", wide);
    setCanvas(stage, stageWidth, height);
    setCanvas(cells, cellWidth, cellHeight);
    setCanvas(band, width, 118);
    stageBox.style.width = `${stageWidth}px`;
    stageBox.style.height = `${height}px`;
    strip = null;
    forget();
    place();
    draw();
  }
  function setCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  const chipSize = () => {
    const room = film.layouts[layoutName].room * Math.min(size.stage, size.height * 1.16);
    const before = layoutFrom ? layoutFrom.room * Math.min(size.stage, size.height * 1.16) : room;
    return Math.max(20, Math.min(78, mix(before, room, ease(morph))));
  };
  function place() {
    const to = film.layouts[layoutName];
    const from = layoutFrom || to;
    const t = ease(morph);
    const half = chipSize() / 2 + 4;
    const w = size.stage - 2 * half, h = size.height - 2 * half;
    const point = (layout, i) => [half + layout.xy[i][0] * w, half + layout.xy[i][1] * h];
    places = Array.from({ length: film.chips + film.switches }, (_, i) => {
      const [a, b] = [point(from, i), point(to, i)];
      return [mix(a[0], b[0], t), mix(a[1], b[1], t)];
    });
    curves = Array.from({ length: film.wireCount }, (_, k) => {
      const [a, b] = [places[film.wires[2 * k]], places[film.wires[2 * k + 1]]];
      const bx = mix(from.bend[k][0], to.bend[k][0], t) * w, by = mix(from.bend[k][1], to.bend[k][1], t) * h;
      return [a, [(a[0] + b[0]) / 2 + 2 * bx, (a[1] + b[1]) / 2 + 2 * by], b];
    });
    const s = chipSize();
    [...chipSpots.children].forEach((spotEl, i) => {
      spotEl.style.transform = `translate(${places[i][0] - s / 2}px, ${places[i][1] - s / 2}px)`;
      spotEl.style.width = spotEl.style.height = `${s}px`;
    });
    [...wireSpots.children].forEach((spotEl, k) => {
      const [x, y] = onCurve(curves[k], 0.5);
      spotEl.style.transform = `translate(${x - 9}px, ${y - 9}px)`;
    });
  }
  function onCurve([a, c, b], t) {
    const u = 1 - t;
    return [u * u * a[0] + 2 * u * t * c[0] + t * t * b[0], u * u * a[1] + 2 * u * t * c[1] + t * t * b[1]];
  }
  /** One directed link: its wire's curve, moved to the right-hand side of the way it runs. */
  function lane(link, gap = 3.2) {
    const from = film.links[3 * link], wire = film.links[3 * link + 2];
    const forward = film.wires[2 * wire] === from;
    let [a, c, b] = curves[wire];
    if (!forward) [a, b] = [b, a];
    const dx = b[0] - a[0], dy = b[1] - a[1];
    const long = Math.hypot(dx, dy) || 1;
    const ox = (-dy / long) * gap, oy = (dx / long) * gap;
    return [[a[0] + ox, a[1] + oy], [c[0] + ox, c[1] + oy], [b[0] + ox, b[1] + oy]];
  }
  function showLayout(name) {
    if (name === layoutName || !film.layouts[name]) return;
    layoutFrom = film.layouts[layoutName];
    layoutName = name;
    forget();
    for (const b of layoutRow.children) b.setAttribute("aria-checked", String(b.dataset.layout === name));
    model.set("layout_name", name);
    model.save_changes();
    cancelAnimationFrame(morphRequest);
    if (still.matches) {
      morph = 1;
      place();
      return draw();
    }
    morphStart = performance.now();
    const tick = (now) => {
      morph = Math.min(1, Math.max(0, now - morphStart) / 900);
      place();
      draw();
      if (morph < 1 && root.isConnected) morphRequest = requestAnimationFrame(tick);
    };
    morph = 0;
    morphRequest = requestAnimationFrame(tick);
  }

  // ---- time ----------------------------------------------------------------------------------
  /** A single step is shown as motion; a scrub or a reader who wants no motion gets the place at once. */
  function onFrame(position) {
    cancelAnimationFrame(stepRequest);
    const jump = Math.abs(position - at);
    if (player.playing || still.matches || jump > 1.001 || jump < 0.999) return show(position);
    const from = at, start = performance.now();
    const tick = (now) => {
      const t = Math.min(1, Math.max(0, now - start) / 650);
      show(mix(from, position, t));
      if (t < 1 && root.isConnected) stepRequest = requestAnimationFrame(tick);
      else settle();
    };
    stepRequest = requestAnimationFrame(tick);
  }
  function show(position) {
    at = position;
    draw();
    if (Number.isInteger(at)) settle();
  }
  function settle() {
    if (player.playing) return;
    const step = Math.round(at);
    if (picked) tellStory();
    if (model.get("step") !== step) {
      model.set("step", step);
      model.save_changes();
    }
  }
  const stepOf = () => Math.min(film.steps - 1, Math.floor(at));
  const timeNow = () => {
    const s = stepOf();
    return mix(film.step_ns[s], film.step_ns[s + 1], Math.min(1, at - s));
  };

  // ---- drawing -------------------------------------------------------------------------------
  function forget() {
    sprites.clear();
    ofStep.clear();
  }
  function readTones() {
    const style = getComputedStyle(root);
    const get = (name, other) => style.getPropertyValue(name).trim() || other;
    tones = {
      ink: get("--jp-ui-font-color0", "#111"), text: get("--jp-ui-font-color1", "#222"),
      muted: get("--jp-ui-font-color2", "#666"), faint: get("--jp-border-color2", "#ccc"),
      line: get("--jp-border-color1", "#bbb"), paper: get("--jp-layout-color1", "#fff"),
      chip: get("--jp-layout-color2", "#eee"), brand: get("--jp-brand-color1", "#1976d2"),
      font: get("--jp-ui-font-family", "sans-serif"), hot: "#D55E00",
    };
  }
  function draw() {
    if (!size.stage) return;
    if (!tones.ink) readTones();
    const step = Math.min(film.steps, Math.floor(at));
    if (step !== stepDrawn) ofStep.clear();
    stepDrawn = step;
    drawStage();
    drawCells();
    drawBand();
    caption.textContent = sentence();
    root.dataset.drawn = String(Number(root.dataset.drawn || 0) + 1);
    root.dataset.at = at.toFixed(3);
  }
  /** How busy a directed link is: in this step, or on average until now; between 0 and 1. */
  function heatOf(link) {
    if (heat === "step") return at >= film.steps ? 0 : film.link_busy[stepOf() * film.linkCount + link];
    const now = timeNow();
    let busy = 0;
    for (let s = 0; s < film.steps && film.step_ns[s] < now; s++) {
      busy += film.link_busy[s * film.linkCount + link] * (Math.min(now, film.step_ns[s + 1]) - film.step_ns[s]);
    }
    return now > film.step_ns[0] ? busy / (now - film.step_ns[0]) : 0;
  }
  function drawStage() {
    const g = stage.getContext("2d");
    g.clearRect(0, 0, size.stage, size.height);
    const half = chipSize() / 2;
    for (let k = 0; k < film.wireCount; k++) {
      g.strokeStyle = picked && picked.kind === "wire" && picked.index === k ? tones.brand : tones.faint;
      g.lineWidth = picked && picked.kind === "wire" && picked.index === k ? 11 : film.chips > 16 ? 5 : 7;
      if (film.down.includes(k)) { g.setLineDash([3, 7]); g.strokeStyle = tones.hot; g.lineWidth = 2; }
      trace(g, curves[k]);
      g.setLineDash([]);
    }
    for (let link = 0; link < film.linkCount; link++) {
      const load = heatOf(link);
      if (load <= 0.001) continue;
      g.strokeStyle = tones.hot;
      g.globalAlpha = 0.25 + 0.75 * load;
      g.lineWidth = 1 + 2.8 * load;
      trace(g, lane(link));
      g.globalAlpha = 1;
    }
    for (let chip = 0; chip < film.chips; chip++) drawChip(g, chip, half);
    for (let i = film.chips; i < places.length; i++) drawSwitch(g, places[i], film.layouts[layoutName].notes[i] || "switch");
    if (at < film.steps) drawMessages(g, half);
  }
  function trace(g, [a, c, b]) {
    g.beginPath();
    g.moveTo(a[0], a[1]);
    g.quadraticCurveTo(c[0], c[1], b[0], b[1]);
    g.stroke();
  }
  function drawChip(g, chip, half) {
    const [x, y] = places[chip];
    const on = picked && picked.kind === "chip" && picked.index === chip;
    if (morph < 1) {
      g.save();
      g.translate(x, y);
      paintChip(g, chip, half, on);
      return g.restore();
    }
    const step = Math.min(film.steps, Math.floor(at));
    const face = drawnOnce(`chip ${chip} ${step} ${on}`, 2 * half + 4, 2 * half + 4, (p) => {
      p.translate(half + 2, half + 2);
      paintChip(p, chip, half, on);
    }, ofStep);
    g.drawImage(face, x - half - 2, y - half - 2, 2 * half + 4, 2 * half + 4);
  }
  function paintChip(g, chip, half, on) {
    const [x, y] = [0, 0];
    g.fillStyle = tones.chip;
    g.strokeStyle = on ? tones.brand : tones.line;
    g.lineWidth = on ? 3 : 1;
    g.beginPath();
    g.roundRect(x - half, y - half, 2 * half, 2 * half, 6);
    g.fill();
    g.stroke();
    const note = film.layouts[layoutName].notes ? film.layouts[layoutName].notes[chip] : "";
    const big = half > 24;
    g.fillStyle = tones.ink;
    g.textBaseline = "top";
    g.textAlign = "left";
    g.font = `600 ${big ? 12 : 10}px ${tones.font}`;
    g.fillText(String(chip), x - half + 5, y - half + 4);
    if (note && half > 16) {
      g.fillStyle = tones.muted;
      g.textAlign = "right";
      g.font = `${big ? 11 : 9}px ${tones.font}`;
      g.fillText(note, x + half - 4, y - half + 4);
    }
    const head = big ? 20 : 15, left = x - half + 4, wide = 2 * half - 8;
    const row = (2 * half - head - 4) / film.ranks_per_chip;
    ranksOf(chip).forEach((rank, j) => bars(g, rank, left, y - half + head + j * row, wide, row - 2));
  }
  function drawSwitch(g, [x, y], name) {
    g.font = `600 12px ${tones.font}`;
    const half = g.measureText(name).width / 2 + 14;
    g.fillStyle = tones.chip;
    g.strokeStyle = tones.line;
    g.lineWidth = 1;
    g.beginPath();
    g.roundRect(x - half, y - 13, 2 * half, 26, 13);
    g.fill();
    g.stroke();
    g.fillStyle = tones.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(name, x, y);
  }
  /** A rank's buffer as bars, one per chunk: as high as the share of the sum that it holds. */
  function bars(g, rank, left, top, wide, high) {
    const step = Math.min(film.steps, Math.floor(at));
    g.fillStyle = tones.paper;
    g.fillRect(left, top, wide, high);
    const w = wide / film.chunks;
    for (let c = 0; c < film.chunks; c++) {
      const share = film.held(step, rank, c) / film.full;
      if (!share) continue;
      g.fillStyle = film.palette[c];
      g.fillRect(left + c * w, top + high * (1 - share), Math.max(0.6, w - (w > 3 ? 0.6 : 0)), high * share);
    }
  }
  function drawMessages(g, half) {
    const f = at - stepOf();
    const ids = film.byStep[stepOf()];
    const small = ids.length > 200;
    for (const m of ids) {
      if (f < film.msg_begins[m] || f > film.msg_ends[m]) continue;
      const path = film.pathOf(m), chunks = film.chunksOf(m);
      const t = (f - film.msg_begins[m]) / (film.msg_ends[m] - film.msg_begins[m]);
      const [x, y] = path.length ? onPath(path, t, half) : insideChip(m, t, half);
      token(g, x, y, chunks, small, path.length > 0);
    }
  }
  /** From the edge of the first chip to the edge of the last, at an even pace over the hops. */
  function onPath(path, f, half) {
    const t = f * path.length;
    const hop = Math.min(path.length - 1, Math.floor(t));
    const curve = lane(path[hop]);
    const flat = Math.max(Math.abs(curve[2][0] - curve[0][0]), Math.abs(curve[2][1] - curve[0][1]));
    const margin = Math.min(0.42, (half + 7) / (flat || 1));
    return onCurve(curve, mix(margin, 1 - margin, t - hop));
  }
  function insideChip(m, f, half) {
    const [x, y] = places[film.chipOf(film.msg_src[m])];
    const head = half > 24 ? 20 : 15;
    const row = (2 * half - head - 4) / film.ranks_per_chip;
    const line = (rank) => y - half + head + ((rank % film.ranks_per_chip) + 0.5) * row;
    const chunk = film.chunksOf(m)[0];
    return [x - half + 4 + ((2 * half - 8) * (chunk + 0.5)) / film.chunks, mix(line(film.msg_src[m]), line(film.msg_dst[m]), f)];
  }
  /** A disc with the colours of its chunks; drawn once for each set of chunks, then copied. */
  function token(g, x, y, chunks, small, outside) {
    const radius = !outside ? 3 : small ? 4 : chunks.length === 1 && film.chunks > 64 ? 6 : 9;
    const sprite = drawnOnce(`token ${radius} ${chunks.join(" ")}`, 2 * radius + 4, 2 * radius + 4, (p) => paintToken(p, radius + 2, radius, chunks));
    g.drawImage(sprite, x - radius - 2, y - radius - 2, 2 * radius + 4, 2 * radius + 4);
  }
  function paintToken(g, at, radius, chunks) {
    const shown = Math.min(chunks.length, 8);
    for (let i = 0; i < shown; i++) {
      g.fillStyle = film.palette[chunks[Math.floor((i * chunks.length) / shown)]];
      g.beginPath();
      g.moveTo(at, at);
      g.arc(at, at, radius, (2 * Math.PI * i) / shown - Math.PI / 2, (2 * Math.PI * (i + 1)) / shown - Math.PI / 2);
      g.fill();
    }
    g.strokeStyle = tones.ink;
    g.lineWidth = radius < 8 ? 0.7 : 1.2;
    g.beginPath();
    g.arc(at, at, radius, 0, 2 * Math.PI);
    g.stroke();
    if (radius < 8) return;
    const text = chunks.length > 1 ? `×${chunks.length}` : String(chunks[0]);
    g.font = `600 10px ${tones.font}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    if (chunks.length > 1) {
      g.lineWidth = 3;
      g.strokeStyle = "#000000b0";
      g.strokeText(text, at, at + 0.5);
      g.fillStyle = "#fff";
    } else g.fillStyle = film.letters[chunks[0]];
    g.fillText(text, at, at + 0.5);
  }
  /** Draw something on a canvas of its own and keep it until the look changes (or the step). */
  function drawnOnce(key, width, height, paint, keep = sprites) {
    let sprite = keep.get(key);
    if (!sprite) {
      sprite = document.createElement("canvas");
      setCanvas(sprite, width, height);
      paint(sprite.getContext("2d"));
      keep.set(key, sprite);
    }
    return sprite;
  }

  // ---- every rank's buffer ---------------------------------------------------------------------
  const cellLeft = 30, cellHead = 34;
  function drawCells() {
    const g = cells.getContext("2d");
    const { cells: width, cellHeight: height } = size;
    const w = (width - cellLeft - 4) / film.chunks, h = (height - cellHead - 4) / film.ranks;
    const step = Math.min(film.steps, Math.floor(at));
    const f = at - step;
    const fill = Math.min(1, Math.max(0, (f - 0.62) / 0.38));
    const mine = picked && picked.kind === "chip" ? picked.index : -1;
    const settled = drawnOnce(`cells ${step} ${mine}`, width, height, (p) => paintCells(p, step, w, h, mine), ofStep);
    g.clearRect(0, 0, width, height);
    g.drawImage(settled, 0, 0, width, height);
    if (fill > 0 && step < film.steps) {
      for (let r = 0; r < film.ranks; r++) {
        for (let c = 0; c < film.chunks; c++) {
          const now = film.held(step, r, c), next = film.held(step + 1, r, c);
          if (now !== next) paintCell(g, r, c, w, h, mix(now, next, fill) / film.full);
        }
      }
    }
    if (film.values && w >= 26 && h >= 15) writeValues(g, cellLeft, cellHead, w, h, step, fill);
    if (step < film.steps && w > 5) outlineMoves(g, cellLeft, cellHead, w, h, step, f);
  }
  function paintCells(g, step, w, h, mine) {
    g.font = `600 12px ${tones.font}`;
    g.textBaseline = "top";
    g.textAlign = "left";
    g.fillStyle = tones.text;
    g.fillText(size.cells > 380 ? "Every rank's buffer, chunk by chunk: as full as its sum" : "Every rank's buffer", 2, 2);
    g.font = `10px ${tones.font}`;
    g.fillStyle = tones.muted;
    g.textAlign = "center";
    const every = Math.ceil(18 / w), skip = Math.ceil(11 / h);
    for (let c = 0; c < film.chunks; c += every) g.fillText(String(c), cellLeft + (c + 0.5) * w, 20);
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (let r = 0; r < film.ranks; r += skip) g.fillText(String(r), cellLeft - 5, cellHead + (r + 0.5) * h);
    g.fillStyle = tones.line; // shows between the cells
    g.fillRect(cellLeft - 1, cellHead - 1, film.chunks * w + 1, film.ranks * h + 1);
    for (let r = 0; r < film.ranks; r++) {
      if (film.chipOf(r) === mine) {
        g.fillStyle = tones.brand;
        g.fillRect(cellLeft - 4, cellHead + r * h, 3, h);
      }
      for (let c = 0; c < film.chunks; c++) paintCell(g, r, c, w, h, film.held(step, r, c) / film.full);
    }
  }
  function paintCell(g, r, c, w, h, share) {
    const gap = w > 4 && h > 4 ? 1 : 0;
    const x = cellLeft + c * w, y = cellHead + r * h;
    g.fillStyle = tones.paper;
    g.fillRect(x, y, w - gap, h - gap);
    if (share <= 0) return;
    g.fillStyle = film.palette[c];
    g.globalAlpha = 0.34; // that there is something at all shows at any size; the bar is how much
    g.fillRect(x, y, w - gap, h - gap);
    g.globalAlpha = 1;
    const high = Math.min(h - gap, Math.max(2, (h - gap) * share));
    g.fillRect(x, y + h - gap - high, w - gap, high);
  }
  function writeValues(g, left, head, w, h, step, fill) {
    g.font = `600 ${h >= 60 ? 20 : h >= 26 ? 13 : 11}px ${tones.font}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    const when = fill >= 1 ? step + 1 : step;
    for (let r = 0; r < film.ranks; r++) {
      for (let c = 0; c < film.chunks; c++) {
        if (!film.held(Math.min(when, film.steps), r, c)) continue;
        const text = String(film.values[(when * film.ranks + r) * film.chunks + c]);
        const x = left + (c + 0.5) * w, y = head + (r + 0.5) * h;
        g.lineWidth = 3;
        g.strokeStyle = tones.paper;
        g.strokeText(text, x, y);
        g.fillStyle = tones.ink;
        g.fillText(text, x, y);
      }
    }
  }
  /** Ring the cells that leave in this step, and dash those that they reach. */
  function outlineMoves(g, left, head, w, h, step, f) {
    const from = new Path2D(), to = new Path2D();
    let count = 0;
    for (const m of film.byStep[step]) {
      for (const c of film.chunksOf(m)) {
        from.rect(left + c * w + 0.5, head + film.msg_src[m] * h + 0.5, w - 2, h - 2);
        to.rect(left + c * w + 0.5, head + film.msg_dst[m] * h + 0.5, w - 2, h - 2);
        count++;
      }
    }
    if (count > 80) return; // too many to tell apart
    g.strokeStyle = tones.ink;
    g.lineWidth = w > 12 ? 1.5 : 1;
    g.stroke(from);
    if (count <= 64) g.setLineDash([2, 2]);
    g.lineWidth = f > 0.62 && w > 12 ? 1.5 : count > 64 ? 0.5 : 1;
    g.stroke(to);
    g.setLineDash([]);
  }

  // ---- utilisation over time -----------------------------------------------------------------
  const bandLeft = 52, bandTop = 16, bandRows = 50, bandMean = 30;
  const bandX = (ns) => {
    const [from, to] = [film.step_ns[0], film.step_ns[film.steps]];
    return bandLeft + ((ns - from) / (to - from || 1)) * (size.width - bandLeft - 8);
  };
  function drawStrip() {
    strip = document.createElement("canvas");
    setCanvas(strip, size.width, 118);
    const g = strip.getContext("2d");
    const row = bandRows / Math.max(1, film.linkCount);
    g.fillStyle = tones.chip;
    g.fillRect(bandLeft, bandTop, size.width - bandLeft - 8, bandRows);
    const foot = bandTop + bandRows + 4 + bandMean;
    for (let s = 0; s < film.steps; s++) {
      const x = bandX(film.step_ns[s]), w = bandX(film.step_ns[s + 1]) - x;
      let sum = 0;
      for (let link = 0; link < film.linkCount; link++) {
        const load = film.link_busy[s * film.linkCount + link];
        sum += load;
        if (load <= 0.001) continue;
        g.globalAlpha = 0.15 + 0.85 * load;
        g.fillStyle = tones.hot;
        g.fillRect(x, bandTop + link * row, Math.max(0.5, w - (w > 4 ? 1 : 0)), row);
      }
      g.globalAlpha = 1;
      const high = (sum / Math.max(1, film.linkCount)) * bandMean;
      g.fillStyle = "#0072B2";
      g.fillRect(x, foot - high, Math.max(0.5, w - (w > 4 ? 1 : 0)), high);
    }
    g.strokeStyle = tones.line;
    g.strokeRect(bandLeft, foot - bandMean, size.width - bandLeft - 8, bandMean);
    g.font = `11px ${tones.font}`;
    g.fillStyle = tones.text;
    g.textBaseline = "top";
    g.textAlign = "left";
    g.fillText("How busy the links are, over time", 2, 1);
    g.fillStyle = tones.muted;
    g.textAlign = "right";
    g.textBaseline = "middle";
    g.font = `10px ${tones.font}`;
    g.fillText("each link", bandLeft - 4, bandTop + bandRows / 2);
    g.fillText("100 %", bandLeft - 4, foot - bandMean + 5);
    g.fillText("mean", bandLeft - 4, foot - 6);
    g.textBaseline = "top";
    const total = film.step_ns[film.steps] - film.step_ns[0];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      g.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
      g.fillText(microseconds(share * total), bandX(film.step_ns[0] + share * total), foot + 4);
    }
  }
  function drawBand() {
    if (!strip) drawStrip();
    const g = band.getContext("2d");
    g.clearRect(0, 0, size.width, 118);
    g.drawImage(strip, 0, 0, size.width, 118);
    const foot = bandTop + bandRows + 4 + bandMean;
    if (picked && picked.kind === "wire") {
      const row = bandRows / film.linkCount;
      g.strokeStyle = tones.brand;
      g.lineWidth = 1.5;
      for (let link = 0; link < film.linkCount; link++) {
        if (film.links[3 * link + 2] === picked.index) g.strokeRect(bandLeft, bandTop + link * row - 0.5, size.width - bandLeft - 8, row + 1);
      }
    }
    const x = bandX(timeNow());
    g.strokeStyle = tones.ink;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x, bandTop - 3);
    g.lineTo(x, foot);
    g.stroke();
  }
  function seekBand(event) {
    const x = event.offsetX;
    let s = 0;
    while (s < film.steps - 1 && bandX(film.step_ns[s + 1]) <= x) s++;
    const [a, b] = [bandX(film.step_ns[s]), bandX(film.step_ns[s + 1])];
    player.pause();
    player.seek(s + Math.min(1, Math.max(0, (x - a) / (b - a || 1))));
  }
  band.addEventListener("pointerdown", (e) => { band.setPointerCapture(e.pointerId); seekBand(e); });
  band.addEventListener("pointermove", (e) => e.buttons && seekBand(e));

  // ---- words ---------------------------------------------------------------------------------
  const verb = (m) => (film.msg_adds[m] ? "adds it" : "keeps it");
  function sentence() {
    if (at >= film.steps) return `All ${film.steps} steps done after ${microseconds(film.step_ns[film.steps] - film.step_ns[0])}. ${film.ending}`;
    const s = stepOf(), ids = film.byStep[s];
    const head = `${Number.isInteger(at) ? "Next, step" : "Step"} ${s + 1} of ${film.steps}${film.step_notes[s] ? ` (${film.step_notes[s]})` : ""}: `;
    const when = ` · ${microseconds(film.step_ns[s] - film.step_ns[0])} → ${microseconds(film.step_ns[s + 1] - film.step_ns[0])}`;
    if (!ids.length) return `${head}no messages${when}`;
    const m = ids.find((i) => film.pathOf(i).length) ?? ids[0], chunks = film.chunksOf(m);
    const what = chunks.length > 1 ? `chunks ${listed([...chunks], 4)}` : `chunk ${chunks[0]}`;
    return `${head}${ids.length} message${ids.length > 1 ? "s" : ""}. Rank ${film.msg_src[m]} sends ${what} (${sizeText(film.msg_bytes[m])}) to rank ${film.msg_dst[m]}, which ${verb(m)}${when}`;
  }
  const chunkText = (m) => { const c = film.chunksOf(m); return c.length > 1 ? `chunks ${listed([...c], 4)}` : `chunk ${c[0]}`; };
  function tellStory() {
    if (!picked) {
      story.replaceChildren(make("span", { class: "te-coll-hint" },
        "Point at a chip or a link, or reach it with Tab and the arrow keys: its history appears here. Keys: space plays, ← → step, R reverses, + − change the speed."));
      return;
    }
    const lines = picked.kind === "chip" ? chipStory(picked.index) : wireStory(picked.index);
    const items = lines.rows.map(([step, text]) => make("li", step === stepOf() && at < film.steps ? { class: "te-coll-now" } : {}, `step ${step + 1}: ${text}`));
    const list = make("ol", { class: "te-coll-list" }, ...items);
    story.replaceChildren(make("b", {}, lines.head), ` ${lines.sum}`, list);
    const now = list.querySelector(".te-coll-now");
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - 20;
  }
  function chipStory(chip) {
    const ranks = ranksOf(chip), rows = [];
    let sent = 0, received = 0;
    for (let s = 0; s < film.steps; s++) {
      const parts = [];
      for (const m of film.byStep[s]) {
        if (ranks.includes(film.msg_src[m])) {
          sent += film.msg_bytes[m];
          parts.push(`${film.ranks_per_chip > 1 ? `rank ${film.msg_src[m]} ` : ""}sends ${chunkText(m)} to rank ${film.msg_dst[m]}`);
        }
        if (ranks.includes(film.msg_dst[m])) {
          received += film.msg_bytes[m];
          parts.push(`${film.ranks_per_chip > 1 ? `rank ${film.msg_dst[m]} ` : ""}gets ${chunkText(m)} from rank ${film.msg_src[m]} and ${verb(m)}`);
        }
      }
      if (parts.length) rows.push([s, parts.length > 6 ? `${parts.slice(0, 5).join("; ")}; and ${parts.length - 5} more` : parts.join("; ")]);
    }
    const done = Math.min(film.steps, Math.floor(at));
    let full = 0;
    for (const r of ranks) for (let c = 0; c < film.chunks; c++) full += film.held(done, r, c) === film.full;
    return { head: `${chipName(chip)[0].toUpperCase()}${chipName(chip).slice(1)}.`, rows,
      sum: `Sends ${sizeText(sent)} and receives ${sizeText(received)} in all; holds ${full} finished chunk${full === 1 ? "" : "s"} now.` };
  }
  function wireStory(wire) {
    const rows = [], sums = [];
    const total = film.step_ns[film.steps] - film.step_ns[0];
    const ways = [];
    for (let link = 0; link < film.linkCount; link++) if (film.links[3 * link + 2] === wire) ways.push(link);
    for (const link of ways) {
      let bytes = 0, busy = 0;
      for (let s = 0; s < film.steps; s++) {
        bytes += film.link_bytes[s * film.linkCount + link];
        busy += film.link_busy[s * film.linkCount + link] * (film.step_ns[s + 1] - film.step_ns[s]);
      }
      sums.push(`${film.links[3 * link]} → ${film.links[3 * link + 1]} carries ${sizeText(bytes)}, busy ${(100 * busy / (total || 1)).toFixed(0)} % of the time`);
    }
    for (let s = 0; s < film.steps; s++) {
      const parts = [];
      for (const link of ways) {
        const ids = film.byStep[s].filter((m) => film.pathOf(m).includes(link));
        if (ids.length) parts.push(`${film.links[3 * link]} → ${film.links[3 * link + 1]} ${ids.slice(0, 3).map(chunkText).join(", ")}${ids.length > 3 ? ` and ${ids.length - 3} more messages` : ""}`);
      }
      if (parts.length) rows.push([s, parts.join("; ")]);
    }
    const name = wireName(wire);
    return { head: `${name[0].toUpperCase()}${name.slice(1)}.`, sum: `${sums.join("; ")}.`, rows };
  }

  // ---- pointing --------------------------------------------------------------------------------
  stageBox.addEventListener("pointermove", (event) => {
    const box = stageBox.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top, half = chipSize() / 2;
    const chip = places.findIndex(([u, v]) => Math.abs(u - x) <= half && Math.abs(v - y) <= half);
    if (chip >= 0) return choose({ kind: "chip", index: chip });
    let best = -1, bestGap = 9;
    curves.forEach((curve, k) => {
      for (let t = 0.05; t < 1; t += 0.05) {
        const [u, v] = onCurve(curve, t);
        const gap = Math.hypot(u - x, v - y);
        if (gap < bestGap) { bestGap = gap; best = k; }
      }
    });
    if (best >= 0) choose({ kind: "wire", index: best });
  });

  // ---- life ----------------------------------------------------------------------------------
  const repaint = () => { readTones(); strip = null; forget(); draw(); };
  const watcher = new MutationObserver(() => setTimeout(repaint, 60));
  watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const resizer = new ResizeObserver(() => { if (Math.abs(root.clientWidth - 2 - size.width) > 1) fit(); });
  resizer.observe(root);
  const onFilm = () => {
    cancelAnimationFrame(morphRequest); // what still moves belongs to the film before
    cancelAnimationFrame(stepRequest);
    player.pause();
    film = readFilm(model.get("film"));
    layoutFrom = null;
    morph = 1;
    const wanted = model.get("layout_name");
    layoutName = film.layouts[wanted] ? wanted : Object.keys(film.layouts)[0];
    at = 0;
    buildFilm(); // every chip of this film has a place before anything is drawn
    player.setFrames(film.steps + 1);
  };
  const onLayout = () => showLayout(model.get("layout_name"));
  const onStep = () => { if (!player.playing && Math.round(at) !== model.get("step")) { at = model.get("step"); player.seek(at); } };
  model.on("change:film", onFilm);
  model.on("change:layout_name", onLayout);
  model.on("change:step", onStep);
  buildFilm();
  if (model.get("step")) { at = model.get("step"); player.seek(at); }
  const stopNaming = watchControls(el); // the menus of the panel around it
  return () => {
    stopNaming();
    player.dispose();
    cancelAnimationFrame(morphRequest);
    cancelAnimationFrame(stepRequest);
    watcher.disconnect();
    resizer.disconnect();
    model.off("change:film", onFilm);
    model.off("change:layout_name", onLayout);
    model.off("change:step", onStep);
  };
}
export default { render };
