// The systolic array player: operands queue at the edges, sums fall, results leave.
//
// Every frame comes from one recorded run (see widgets/systolic_array.py): what each PE holds at the
// end of each cycle.  A position p shows cycle floor(p), with what is handed on frac(p) of its way to
// the neighbour.  Nothing is computed here but where to draw.  What stands still during a cycle is
// drawn once in it, on a canvas of its own.  Joined behind number_grid.js, operand_matrices.js and
// playback.js.

const FILM_TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array };
const STAYS = 1, ACROSS = 2, DOWN = 4, WORKS = 8, WAITS = 16, LEAVES = 32;
const SHADES = 24; // of each sign
const BESIDE_FROM = 870; // pixels of the player that hold the array and what is beside it
const LOADS_FROM = 60; // pixels of a cell that has room for the weight that waits
const TILE_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"];

/** Unpack the bytes that Python sent: a header in JSON and plain arrays behind it, deflated. */
async function readFilm(view) {
  const packed = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const film = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  for (const [name, [type, offset, count]] of Object.entries(film.arrays)) {
    film[name] =
      type === "f16"
        ? new HalfCodes(buffer, 4 + size + offset, count)
        : new FILM_TYPES[type](buffer, 4 + size + offset, count);
  }
  return film;
}

/** Half-precision numbers, kept as their codes: there are millions of them. */
class HalfCodes extends Uint16Array {}

/** Widen one half-precision code. */
function fromHalf(code) {
  const sign = code & 0x8000 ? -1 : 1;
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * 2 ** -24 * fraction;
}

const HALVES = Float32Array.from({ length: 65536 }, (_, code) => fromHalf(code));

/** Return number i of an array of numbers or of half-precision codes. */
const number = (values, i) => (values instanceof HalfCodes ? HALVES[values[i]] : values[i]);

/** Spell a number in at most five characters. */
function short(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text;
  if (size === 0) text = "0";
  else if (size >= 9999.5 || size < 0.005) text = size.toExponential(0).replace("e+", "e").replace("e-", "e−");
  else if (size >= 99.5) text = size.toFixed(0);
  else text = String(Number(size.toFixed(size >= 9.95 ? 1 : 2)));
  return value < 0 ? `−${text}` : text;
}
/** Spell a number in ever fewer characters, for a cell to choose from. */
const shorter = (value) => {
  if (!Number.isFinite(value) || Math.abs(value) >= 9999.5) return [short(value)];
  return [short(value), ...[2, 1, 0].map((places) => value.toFixed(places).replace("-", "−"))];
};
const four = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))).replace("-", "−") : short(value));
const long = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(6))).replace("-", "−") : short(value));

const bracket = (value) => (value < 0 ? `(${long(value)})` : long(value));

function render({ model, el }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const clean = [watchControls(el)]; // a panel's stock controls around it
  const wait = make("div", { class: "te-array" }, "Unpacking the run …");
  el.append(wait);
  let gone = false;
  let stop = () => {};
  const begin = () => {
    stop();
    readFilm(model.get("film")).then((film) => {
      if (gone) return;
      el.replaceChildren();
      stop = show(film, model, el, still);
    });
  };
  begin();
  model.on("change:film", begin);
  clean.push(() => model.off("change:film", begin));
  return () => {
    gone = true;
    stop();
    clean.forEach((f) => f());
  };
}

function show(film, model, el, still) {
  const { rows, columns, cycles } = film;
  const per = rows * columns;
  const heat = columns > 32 || rows > 32;
  const outputs = film.dataflow === "output-stationary";
  const swapped = film.dataflow === "input-stationary";
  const at = (t, k, m) => t * per + k * columns + m;
  const label = model.get("label");
  const acrossName = outputs || !swapped ? "moving" : "stationary";
  const stayName = outputs ? "sum" : swapped ? "moving" : "weight";
  let now = 0;
  let picked = { k: Math.min(1, rows - 1), m: Math.min(1, columns - 1) };
  let element = null; // {m, n}
  let steps = []; // the element's life
  let tones = {};
  let palette = [];
  let cell = 30;
  let box = { left: 0, top: 0, width: 0, height: 0, queue: 3, above: 0.4, below: 2.4 };
  let show = heat ? "sums" : "all";
  const image = heat ? new ImageData(columns, rows) : null;
  const pixels = heat ? new Uint32Array(image.data.buffer) : null;
  const small = heat ? new OffscreenCanvas(columns, rows) : null;
  const shadeOfCode = heat ? Uint8Array.from(HALVES, (value) => shade(value)) : null;
  const ground = document.createElement("canvas"); // cells, lines, labels: what stands still
  const groundState = new Uint8Array(per); // what is drawn there, cell by cell
  const grid = createNumberGrid(rows, columns); // what moves, where cells are small
  const gridValue = new Float32Array(per);
  const gridThere = new Uint8Array(per);
  let drawn = { t: -1, what: "" }; // the cycle that ground and grid show
  const stripStill = document.createElement("canvas"); // the strips without the line at the present cycle
  const pastStill = document.createElement("canvas");
  let pastOf = ""; // whose past that is
  let look = null; // how the matrices are drawn
  let wide = { strip: 0, past: 0 }; // so that no frame asks for the layout
  const leftBy = new Uint32Array(cycles + 1); // sums that have left by each cycle
  for (let i = 0; i < film.r_cycle.length; i++) leftBy[Math.min(cycles, film.r_cycle[i])]++;
  for (let t = 1; t <= cycles; t++) leftBy[t] += leftBy[t - 1];

  // results by (cycle, column), and by element
  const resultAt = new Map();
  const resultsOf = new Map();
  for (let i = 0; i < film.r_cycle.length; i++) {
    resultAt.set(film.r_cycle[i] * columns + film.r_column[i], i);
    const key = film.r_m[i] * film.n + film.r_n[i];
    if (!resultsOf.has(key)) resultsOf.set(key, []);
    resultsOf.get(key).push(i);
  }
  /** The element of dst whose sum a PE holds at a cycle: {m, n}, or null. */
  function sumOf(t, k, m) {
    const bits = film.state[at(t, k, m)];
    if (outputs && bits & STAYS) return { m, n: k };
    if (!(bits & (outputs ? LEAVES : DOWN))) return null;
    const i = resultAt.get((t + rows - 1 - k) * columns + m);
    return i === undefined ? null : { m: film.r_m[i], n: film.r_n[i] };
  }
  const loadByLane = Array.from({ length: rows }, () => []); // weights on their way in
  const abreast = new Map(); // how many enter a row in one cycle
  for (let i = 0; i < film.l_cycle.length; i++) {
    const key = film.l_cycle[i] * rows + film.l_lane[i];
    const place = abreast.get(key) || 0;
    abreast.set(key, place + 1);
    loadByLane[film.l_lane[i]].push({ enters: film.l_cycle[i], column: film.l_column[i], value: film.l_value[i], place, key });
  }
  const queueByLane = Array.from({ length: rows }, () => []);
  for (let i = 0; i < film.q_cycle.length; i++) queueByLane[film.q_lane[i]].push(i);
  const topByLane = Array.from({ length: columns }, () => []);
  for (let i = 0; i < film.t_cycle.length; i++) topByLane[film.t_lane[i]].push(i);
  for (const lane of queueByLane) lane.sort((a, b) => film.q_cycle[a] - film.q_cycle[b]);
  for (const lane of topByLane) lane.sort((a, b) => film.t_cycle[a] - film.t_cycle[b]);

  // ---- the elements ------------------------------------------------------------------------
  const title = make("div", { class: "te-array-title" }, film.title);
  const shows = heat
    ? [["sums", "colour: partial sums"], ["works", "colour: who multiplies"]]
    : [["all", "show: everything that fits"], ["sums", outputs ? "show: sums" : "show: partial sums"],
       ["stays", `show: ${stayName}s that stay`], ["across", `show: ${acrossName} values`]];
  const showPick = make("select", {
    ...focusable(`What the cells show: ${label}`), on: { change: () => { show = showPick.value; draw(now); } },
  }, ...shows.map(([value, text]) => make("option", { value }, text)));
  const head = make("div", { class: "te-array-head" }, title, showPick);
  const stage = make("canvas", {
    ...focusable(`The array: ${label}. Arrow keys choose a processing element, Enter follows its sum`),
    tabindex: "0", role: "img", on: { pointermove: hover, pointerdown: follow, keydown: stageKey },
  });
  stage.removeAttribute("title");
  const stageBox = make("div", { class: "te-array-stage" }, stage);
  stageBox.style.setProperty("--te-array-stage", heat || columns <= 12 ? "520px" : `${Math.min(860, 34 + (columns + 3) * 24)}px`);
  const facts = make("p", { class: "te-array-facts", "aria-live": "off" });
  const past = make("canvas", { role: "img" });
  const mInput = make("input", {
    ...focusable(`Row m of the result to follow: ${label}`), type: "number", min: 0, max: film.m - 1, value: 0,
    on: { change: () => choose(Number(mInput.value), Number(nInput.value)) },
  });
  const nInput = make("input", {
    ...focusable(`Column n of the result to follow: ${label}`), type: "number", min: 0, max: film.n - 1, value: 0,
    on: { change: () => choose(Number(mInput.value), Number(nInput.value)) },
  });
  const body = make("tbody");
  const columnsOfTable = ["cycle", "stage", outputs ? "moving × stationary" : `${stayName} × ${acrossName}`, "sum"];
  const scroll = make("div", { ...focusable(`The life of one result, cycle by cycle: ${label}`), class: "te-array-scroll", tabindex: "0" },
    make("table", {}, make("thead", {}, make("tr", {}, ...columnsOfTable.map((c) => make("th", { scope: "col" }, c)))), body));
  scroll.removeAttribute("title");
  const peTitle = make("h4");
  const matrices = film.w && createOperandMatrices({
    film, label, sumOf, onPoint: () => draw(now), onFollow: choose,
  });
  const side = make("div", { class: "te-array-side" },
    peTitle, facts, past,
    make("div", { class: "te-array-pick" }, make("span", {}, "Follow the result dst["), mInput, make("span", {}, ","), nInput, make("span", {}, "]")),
    scroll);
  const strip = make("canvas", { role: "img", on: { pointerdown: seekStrip, pointermove: (e) => e.buttons && seekStrip(e) } });
  const stripBox = make("div", { class: "te-array-strip" }, strip);
  const story = make("div", { class: "te-array-story", role: "status", "aria-live": "polite" });
  const swatch = (colour, text) => {
    const i = make("i");
    i.style.background = colour;
    return make("span", {}, i, text);
  };
  const next = film.loads.length > 1 ? " for the next tile" : "";
  const arriving = columns <= 6 ? `${stayName}, on its way in${next}` : `corner: a ${stayName} waits${next}`;
  const legend = make("div", { class: "te-array-legend" },
    swatch("#E69F00", "positive sum"), swatch("#0072B2", "negative sum"),
    ...(heat ? [] : [swatch("#009E73", `${acrossName}, on its way right`)]),
    ...(outputs ? [swatch("#CC79A7", "stationary, on its way down")] : []),
    ...(heat || outputs ? [] : [swatch("#CC79A7", arriving)]));
  const player = createPlayback({
    frames: cycles, label, framesPerSecond: film.cycles_per_second, onFrame: draw,
    describe: (t) => `cycle ${t} / ${cycles - 1}`,
  });
  const bodyBox = make("div", { class: "te-array-body" }, stageBox, side);
  const root = make("div", { class: "te-array", role: "group", "aria-label": label, on: { keydown: (e) => player.onKey(e) } },
    head, player.element, story, bodyBox, legend, stripBox);
  el.append(root);

  // ---- colours and sizes --------------------------------------------------------------------
  function readTones() {
    const style = getComputedStyle(root);
    const tone = (name, other) => style.getPropertyValue(name).trim() || other;
    tones = {
      paper: tone("--jp-layout-color1", "#ffffff"), ink: tone("--jp-ui-font-color1", "#222222"),
      muted: tone("--jp-ui-font-color2", "#666666"), line: tone("--jp-border-color2", "#cccccc"),
      soft: tone("--jp-layout-color2", "#eeeeee"), mark: "#D55E00",
      dark: document.body.dataset.jpThemeLight === "false",
    };
    const paper = rgbOf(tones.paper);
    palette = [];
    for (let i = -SHADES; i <= SHADES; i++) {
      const to = i < 0 ? [0, 114, 178] : [230, 159, 0];
      const share = (tones.dark ? 0.2 : 0.12) + (tones.dark ? 0.62 : 0.6) * Math.abs(i) / SHADES;
      palette.push([0, 1, 2].map((c) => Math.round(paper[c] + (to[c] - paper[c]) * share)));
    }
    palette.css = palette.map(([r, g, b]) => `rgb(${r},${g},${b})`);
    palette.paper = paper;
    palette.pixels = Uint32Array.from(palette, (rgb) => packed(...rgb));
    forget();
  }
  /** Draw everything anew next time. */
  function forget() {
    drawn = { t: -1, what: "" };
    pastOf = "";
  }
  function shade(value) {
    if (!Number.isFinite(value)) return value < 0 ? 0 : 2 * SHADES;
    const size = Math.min(1, Math.abs(value) / film.scale) ** 0.6;
    return SHADES + Math.round(Math.sign(value) * size * SHADES);
  }
  function fit(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }
  /** Put the matrices beside the array, or above it where the page is narrow. */
  function placeMatrices() {
    const parent = root.clientWidth < BESIDE_FROM ? bodyBox : side;
    matrices.canvas.style.flex = "0 0 auto";
    if (matrices.canvas.parentElement !== parent) parent.prepend(matrices.canvas);
    const width = Math.min(parent.clientWidth, parent === side ? 460 : 800);
    look = { width, height: matrices.layout(width), tones, shadeOf: (value) => palette.css[shade(value)] };
    fit(matrices.canvas, width, look.height);
    matrices.canvas.style.width = `${width}px`;
  }
  function resize() {
    const width = stageBox.clientWidth;
    if (!width) return;
    if (heat) {
      const side = Math.min(width - 30, 640);
      cell = side / columns;
      box = { left: 28, top: 18, queue: 0, above: 0, below: 0, width: Math.min(width, Math.ceil(side + 32)), height: side + 24 };
    } else {
      box.queue = columns <= 8 ? 4 : 3;
      box.above = outputs ? 2.4 : 0.15;
      box.below = columns <= 12 ? 2.3 : 1.4;
      cell = Math.floor(Math.min((width - 34) / (columns + box.queue), columns <= 12 ? 620 / (rows + box.above + box.below) : 24, 92));
      box.left = 30 + box.queue * cell;
      box.top = 18 + box.above * cell;
      box.width = Math.min(width, Math.ceil(box.left + columns * cell + 4));
      box.height = box.top + (rows + box.below) * cell + 2;
    }
    fit(stage, box.width, box.height);
    stage.style.width = `${box.width}px`;
    wide = { strip: stripBox.clientWidth, past: side.clientWidth };
    for (const canvas of [strip, stripStill]) fit(canvas, wide.strip, 74);
    for (const canvas of [past, pastStill]) fit(canvas, wide.past, 74);
    if (matrices) placeMatrices();
    forget();
    drawStrip();
    draw(now);
  }

  // ---- drawing ----------------------------------------------------------------------------
  function draw(position) {
    const moved = Math.floor(position) !== Math.floor(now) || position === now;
    now = position;
    if (moved) markTable(); // first of all: it asks for the layout
    if (!heat) drawCells();
    else if (moved) drawHeat();
    if (moved) {
      drawPast();
      drawCursor();
      drawMatrices();
      tell();
    }
  }
  function drawMatrices() {
    if (!look) return;
    const t = Math.floor(now);
    look.tones = tones;
    matrices.draw(matrices.canvas.getContext("2d"), t, picked, element, look);
    matrices.describe(t);
  }
  function drawHeat() {
    const start = Math.floor(now) * per;
    const paper = packed(...palette.paper), green = packed(0, 158, 115), pink = packed(204, 121, 167);
    const { state, down } = film;
    for (let i = 0; i < per; i++) {
      const bits = state[start + i];
      if (show === "works") pixels[i] = bits & WORKS ? green : bits & WAITS ? pink : paper;
      else pixels[i] = bits & DOWN ? palette.pixels[shadeOfCode[down[start + i]]] : paper;
    }
    small.getContext("2d").putImageData(image, 0, 0);
    const c = stage.getContext("2d");
    c.clearRect(0, 0, box.width, box.height);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, box.left, box.top, columns * cell, rows * cell);
    c.strokeStyle = tones.muted;
    c.strokeRect(box.left, box.top, columns * cell, rows * cell);
    c.fillStyle = tones.muted;
    c.font = "11px sans-serif";
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(`columns 0 to ${columns - 1}: dst partitions`, box.left, 12);
    c.save();
    c.translate(12, box.top + rows * cell / 2);
    c.rotate(-Math.PI / 2);
    c.textAlign = "center";
    c.fillText(`rows 0 to ${rows - 1}: SBUF partitions`, 0, 0);
    c.restore();
    outline(c, picked.k, picked.m, tones.mark, Math.max(cell, 7));
  }
  function outline(c, k, m, colour, size) {
    c.strokeStyle = colour;
    c.lineWidth = 2;
    const extra = (size - cell) / 2;
    c.strokeRect(box.left + m * cell - extra, box.top + k * cell - extra, size, size);
    c.lineWidth = 1;
  }
  function drawCells() {
    const t = Math.floor(now);
    const way = now - t;
    const c = stage.getContext("2d");
    const roomy = cell >= 34;
    const size = Math.max(8, Math.min(15, cell * (cell >= 52 ? 0.19 : roomy ? 0.26 : 0.36)));
    const what = show === "all" && !roomy ? "sums" : show;
    drawGround(t);
    c.clearRect(0, 0, box.width, box.height);
    c.drawImage(ground, 0, 0, box.width, box.height);
    c.textBaseline = "middle";
    drawQueues(c, t, way, size);
    c.font = `${size}px sans-serif`;
    if (roomy || outputs) drawFew(c, t, way, size, what);
    else drawMany(c, t, way, size, what);
    drawn = { t, what };
    drawResults(c, t, way, size);
    if (element) {
      const step = steps.find((s) => s.t === t && s.k >= 0);
      if (step) outline(c, step.k, step.column, "#0072B2", cell - 3);
    }
    outline(c, picked.k, picked.m, tones.mark, cell);
    if (matrices) for (const [k, m] of matrices.holders(t)) outline(c, k, m, tones.ink, cell - 6);
  }
  /** Draw what stands still in this cycle: the cells that changed. */
  function drawGround(t) {
    if (drawn.t === t) return;
    const fresh = drawn.t < 0;
    const c = fresh ? fit(ground, box.width, box.height) : ground.getContext("2d");
    for (let i = 0; i < per; i++) {
      const bits = film.state[t * per + i] & (STAYS | WORKS | WAITS);
      if (!fresh && !outputs && bits === groundState[i]) continue;
      groundState[i] = bits;
      const x = box.left + (i % columns) * cell;
      const y = box.top + Math.floor(i / columns) * cell;
      if (outputs && bits & STAYS) c.fillStyle = palette.css[shade(number(film.stays, t * per + i))];
      else c.fillStyle = bits & WORKS ? tones.soft : tones.paper;
      c.fillRect(x + 1, y + 1, cell - 1, cell - 1);
      if (bits & WAITS && cell < LOADS_FROM) {
        c.fillStyle = "#CC79A7";
        c.beginPath();
        c.moveTo(x + cell - 1, y + 1);
        c.lineTo(x + cell - 1, y + 1 + cell * 0.22);
        c.lineTo(x + cell - 1 - cell * 0.22, y + 1);
        c.fill();
      }
    }
    if (!fresh) return;
    c.strokeStyle = tones.line;
    c.beginPath();
    for (let k = 0; k <= rows; k++) {
      c.moveTo(box.left, box.top + k * cell + 0.5);
      c.lineTo(box.left + columns * cell, box.top + k * cell + 0.5);
    }
    for (let m = 0; m <= columns; m++) {
      c.moveTo(box.left + m * cell + 0.5, box.top);
      c.lineTo(box.left + m * cell + 0.5, box.top + rows * cell);
    }
    c.stroke();
    c.textBaseline = "middle";
    labels(c);
  }
  /** Draw one number in each small cell: written into pixels once a cycle, then moved as a picture. */
  function drawMany(c, t, way, size, what) {
    const [values, bit] = { sums: [film.down, DOWN], stays: [film.stays, STAYS], across: [film.across, ACROSS] }[what];
    if (drawn.t < 0 || drawn.what !== what) {
      grid.fit(cell, window.devicePixelRatio || 1, size, rgbOf(tones.ink));
      gridThere.fill(0);
    }
    if (drawn.t !== t || drawn.what !== what) {
      for (let i = 0; i < per; i++) {
        const there = film.state[t * per + i] & bit;
        const value = number(values, t * per + i);
        if (there && !(gridThere[i] && Object.is(gridValue[i], value))) {
          const back = what === "sums" ? palette[shade(value)] : palette.paper;
          grid.paint(Math.floor(i / columns), i % columns, shorter(value), back, what === "across" ? [0, 158, 115] : null);
          gridValue[i] = value;
        } else if (!there && gridThere[i]) grid.erase(Math.floor(i / columns), i % columns);
        gridThere[i] = there;
      }
      grid.flush();
    }
    const dx = what === "across" ? way * cell : 0;
    const dy = what === "sums" ? way * cell : 0;
    c.drawImage(grid.canvas, box.left + dx, box.top + dy, columns * cell, rows * cell);
  }
  /** Draw all that fits into each large cell: what stays, over it sums, over them what is fed. */
  function drawFew(c, t, way, size, what) {
    const big = cell >= 52;
    const roomy = cell >= 34;
    const all = what === "all";
    const each = (bit, draw) => {
      for (let k = 0; k < rows; k++) {
        for (let m = 0; m < columns; m++) {
          const i = at(t, k, m);
          if (film.state[i] & bit) draw(i, box.left + m * cell, box.top + k * cell);
        }
      }
    };
    if ((all && big) || what === "stays" || (outputs && (all || what === "sums"))) {
      c.fillStyle = tones.ink;
      c.textAlign = all && !outputs ? "left" : "center";
      each(STAYS, (i, x, y) => {
        const text = short(number(film.stays, i));
        if (all && !outputs) c.fillText(text, x + 5, y + size * 0.8);
        else if (all) c.fillText(text, x + cell * 0.28, y + cell * 0.25);
        else c.fillText(text, x + cell / 2, y + cell / 2);
      });
    }
    if (all && cell >= LOADS_FROM && !outputs) drawLoads(c, t, way, size);
    if (!outputs && (all || what === "sums")) each(DOWN, (i, x, y) => sum(c, x, y + way * cell, number(film.down, i), size, what));
    each(LEAVES, (i, x, y) => sum(c, x, y + way * cell, number(film.leaving, i), size, "all", all ? 0.5 : 0));
    if (outputs && all) {
      each(DOWN, (i, x, y) => token(c, x + cell * 0.28, y + cell * 0.8 + way * cell, number(film.down, i), "#CC79A7", size, big));
    }
    if (all || what === "across") {
      const [right, low] = all ? [0.66, 0.42] : [0.5, 0.5];
      each(ACROSS, (i, x, y) => token(c, x + cell * (right + way), y + cell * low, number(film.across, i), "#009E73", size, roomy || !all));
    }
  }
  /** Draw what will stay: in front of its row, on its way to its column, and waiting there. */
  function drawLoads(c, t, way, size) {
    c.save();
    c.beginPath();
    c.rect(28, 0, box.width - 28, box.height);
    c.clip();
    for (let k = 0; k < rows; k++) {
      const y = box.top + (k + 0.15) * cell;
      for (const { enters, column, value, place, key } of loadByLane[k]) {
        const on = t - enters; // the column that it has reached
        if (on >= column || -on > box.queue + 1) continue;
        const many = abreast.get(key);
        const x = box.left + (0.24 + (many > 1 ? 0.8 * place / many : 0) + on + way) * cell;
        c.globalAlpha = on < 0 ? Math.max(0.25, 1 + (on + way) / (box.queue + 1.2)) : 1;
        token(c, x, y, value, "#CC79A7", many > 1 ? Math.min(size, 9) : size, true);
      }
      c.globalAlpha = 1;
      for (let m = 0; m < columns; m++) {
        const i = at(t, k, m);
        if (!(film.state[i] & WAITS)) continue;
        const x = box.left + (m + (film.state[i] & STAYS ? 0.78 : 0.24)) * cell;
        token(c, x, y, number(film.waiting, i), "#CC79A7", size, true);
      }
    }
    c.restore();
  }
  function sum(c, x, y, value, size, one, from = 0) {
    const high = one === "all" ? cell * 0.34 : cell - 4;
    const top = one === "all" ? y + cell * 0.62 : y + 2;
    c.fillStyle = palette.css[shade(value)];
    c.fillRect(x + 3 + from * cell, top, cell * (1 - from) - 6, high);
    c.fillStyle = tones.ink;
    c.textAlign = "center";
    c.fillText(short(value), x + cell * (1 + from) / 2, top + high / 2 + 0.5);
  }
  function token(c, x, y, value, colour, size, withText) {
    if (!withText) {
      c.fillStyle = colour;
      c.fillRect(x - 2.5, y - 2.5, 5, 5);
      return;
    }
    const text = short(value);
    const wide = Math.max(size * 1.6, text.length * size * 0.56 + 6);
    c.fillStyle = tones.paper;
    c.strokeStyle = colour;
    c.lineWidth = 1.6;
    c.beginPath();
    c.roundRect(x - wide / 2, y - size * 0.72, wide, size * 1.44, size * 0.7);
    c.fill();
    c.stroke();
    c.lineWidth = 1;
    c.fillStyle = tones.ink;
    c.textAlign = "center";
    c.fillText(text, x, y + 0.5);
  }
  function labels(c) {
    c.fillStyle = tones.muted;
    c.font = "11px sans-serif";
    c.textAlign = "center";
    const every = cell < 22 ? 4 : 1;
    const down = outputs ? "m" : swapped ? "n" : "m";
    for (let m = 0; m < columns; m += every) {
      c.fillText(m || cell < 30 ? String(m) : `${down} = 0`, box.left + (m + 0.5) * cell, outputs ? 8 : box.top - 8);
    }
    c.textAlign = "left";
    const side = outputs ? "n" : "k";
    for (let k = 0; k < rows; k += every) c.fillText(k ? String(k) : `${side}=0`, 2, box.top + (k + 0.5) * cell);
  }
  function drawQueues(c, t, way, size) {
    c.font = `${size}px sans-serif`;
    const big = cell >= 34;
    c.save();
    c.beginPath();
    c.rect(28, 0, box.left + cell * 0.8 - 28, box.height);
    c.clip();
    for (let k = 0; k < rows; k++) {
      for (const i of queueByLane[k]) {
        const ahead = film.q_cycle[i] - t;
        if (ahead <= 0) continue;
        if (ahead > box.queue + 1) break;
        const x = box.left + (0.66 - ahead + way) * cell;
        c.globalAlpha = Math.max(0.25, 1 - (ahead - way) / (box.queue + 1.2));
        token(c, x, box.top + (k + 0.42) * cell, film.q_value[i], "#009E73", size, big);
      }
    }
    c.restore();
    for (let m = 0; m < columns; m++) {
      for (const i of topByLane[m]) {
        const ahead = film.t_cycle[i] - t;
        if (ahead <= 0) continue;
        if (ahead > box.queue + 1) break;
        c.globalAlpha = Math.max(0.25, 1 - (ahead - way) / (box.queue + 1.2));
        token(c, box.left + (m + 0.28) * cell, box.top + (0.8 - ahead + way) * cell, film.t_value[i], "#CC79A7", size, big);
      }
    }
    c.globalAlpha = 1;
  }
  function drawResults(c, t, way, size) {
    const floor = box.top + rows * cell;
    c.fillStyle = tones.muted;
    c.font = "11px sans-serif";
    c.textAlign = "left";
    c.fillText("PSUM", 2, floor + cell * 0.55);
    c.font = `${size}px sans-serif`;
    c.save();
    c.beginPath();
    c.rect(0, floor, box.width, box.below * cell);
    c.clip();
    for (let m = 0; m < columns; m++) {
      for (let past = 0; past <= box.below + 1; past++) {
        if (past > t) break;
        const i = resultAt.get((t - past) * columns + m);
        if (i === undefined) continue;
        const y = floor + (past - 1 + way) * cell;
        if (past === 0 && way === 0) continue;
        c.globalAlpha = Math.max(0.15, 1 - (past - 1 + way) / (box.below + 0.6));
        sum(c, box.left + m * cell, y, film.r_value[i], size, "all");
      }
    }
    c.restore();
    c.globalAlpha = 1;
  }

  // ---- the strip of utilisation ---------------------------------------------------------------
  function drawStrip() {
    const width = wide.strip;
    const c = stripStill.getContext("2d");
    c.clearRect(0, 0, width, 74);
    const left = 30, right = width - 8, base = 58, high = 44;
    const step = (right - left) / cycles;
    c.fillStyle = "#009E73";
    for (let t = 0; t < cycles; t++) {
      const h = high * film.busy[t] / per;
      c.fillRect(left + t * step, base - h, Math.max(1, step - (step > 4 ? 1 : 0)), h);
    }
    c.strokeStyle = tones.line;
    c.beginPath();
    for (const share of [0, 0.5, 1]) {
      c.moveTo(left, base - high * share + 0.5);
      c.lineTo(right, base - high * share + 0.5);
    }
    c.stroke();
    c.fillStyle = tones.ink;
    c.font = "11px sans-serif";
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (const share of [0, 0.5, 1]) c.fillText(`${100 * share}%`, left - 3, base - high * share);
    c.textAlign = "left";
    c.fillText(`PEs that multiply, per cycle; over all ${cycles} cycles ${(100 * film.utilisation).toFixed(1)} %`, left, 7);
    c.textAlign = "center";
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((e) => e * step >= 34) || 2000;
    c.fillStyle = tones.muted;
    for (let t = 0; t < cycles; t += every) c.fillText(String(t), left + (t + 0.5) * step, base + 9);
    strip.setAttribute("aria-label", `Utilisation per cycle: from ${film.busy[0]} to at most ${Math.max(...film.busy)} of ${per} PEs; ${(100 * film.utilisation).toFixed(1)} percent over all ${cycles} cycles`);
  }
  function drawCursor() {
    mark(strip, stripStill, wide.strip, 30, (wide.strip - 38) / cycles, 60);
  }
  /** Copy a picture of all cycles, and draw a line where the present one is. */
  function mark(canvas, picture, width, left, step, bottom) {
    if (!width) return;
    const c = canvas.getContext("2d");
    c.clearRect(0, 0, width, 74);
    c.drawImage(picture, 0, 0, width, 74);
    const x = left + (Math.floor(now) + 0.5) * step;
    c.strokeStyle = tones.mark;
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(x, 12);
    c.lineTo(x, bottom);
    c.stroke();
  }
  function seekStrip(event) {
    const width = stripBox.clientWidth;
    player.pause();
    player.seek(Math.floor((event.offsetX - 30) / (width - 38) * cycles));
  }

  // ---- one PE, and its history ------------------------------------------------------------------
  function tell() {
    const t = Math.floor(now);
    let loading = "";
    for (const [start, length] of film.loads) if (t >= start && t < start + length) loading = " Weights are being loaded.";
    const text = `Cycle ${t}: ${film.busy[t]} of ${per} PEs multiply, ${leftBy[t]} of ${film.r_cycle.length} sums have left.${loading}`;
    if (!player.playing || still.matches) story.textContent = text;
    else story.textContent = `Cycle ${t}: ${film.busy[t]} of ${per} PEs multiply.${loading}`;
    story.setAttribute("aria-live", player.playing ? "off" : "polite");
    tellPe(t);
  }
  function tellPe(t) {
    const { k, m } = picked;
    peTitle.textContent = `PE in row ${k}, column ${m}, at cycle ${t}`;
    const i = at(t, k, m);
    const state = film.state[i];
    const near = film.exact ? "" : "about ";
    const lines = [];
    if (outputs) {
      if (state & STAYS) lines.push(`Keeps dst[${m}, ${k}] = ${long(number(film.stays, i))} so far.`);
      if (state & WORKS) lines.push(`Just added ${long(number(film.across, i))} × ${long(number(film.down, i))}: product ${worked(t, k, m)} of ${film.k}.`);
      if (state & LEAVES) lines.push(`A finished sum, ${long(number(film.leaving, i))}, passes on its way down.`);
    } else {
      const weight = weightAt(t, k, m);
      if (weight !== null) lines.push(`Holds the ${stayName} ${near}${long(weight)}.`);
      if (state & WAITS) {
        const value = film.waiting ? ` ${long(number(film.waiting, i))}` : "";
        lines.push(weight === null ? `Its ${stayName}${value} has arrived and waits for the first value.`
          : `The next tile's ${stayName}${value} waits beside it.`);
      }
      if (state & DOWN) {
        const before = k && t ? number(film.down, at(t - 1, k - 1, m)) : 0;
        const part = sumOf(t, k, m);
        const name = part ? `dst[${part.m}, ${part.n}]` : "a result";
        if (state & WORKS && film.across) lines.push(`${near}${long(before)} from above + ${bracket(weight)} × ${bracket(number(film.across, i))} = ${long(number(film.down, i))}.`);
        else if (state & WORKS) lines.push(`From above ${near}${long(before)}, handed down ${near}${long(number(film.down, i))}.`);
        else lines.push(`Lets ${near}${long(number(film.down, i))} pass: no row of this tile lies here.`);
        lines.push(`That is part of ${name}, row ${k + 1} of ${rows} on its way down.`);
      }
    }
    if (!(state & (WORKS | DOWN | LEAVES))) lines.push("Idle in this cycle.");
    let busy = 0, first = -1, last = -1;
    for (let s = 0; s < cycles; s++) {
      if (film.state[at(s, k, m)] & WORKS) {
        busy++;
        if (first < 0) first = s;
        last = s;
      }
    }
    lines.push(busy ? `Multiplies in ${busy} of ${cycles} cycles, from ${first} to ${last}.` : "Never multiplies: the tile leaves it out.");
    facts.replaceChildren(...lines.flatMap((line) => [document.createTextNode(line), make("br")]));
    stage.setAttribute("aria-label", `The array: ${label}. Arrow keys choose a processing element, Enter follows its sum. PE in row ${k}, column ${m}: ${lines.join(" ")}`);
    facts.setAttribute("aria-live", document.activeElement === stage && !player.playing ? "polite" : "off");
  }
  function weightAt(t, k, m) {
    if (!(film.state[at(t, k, m)] & STAYS)) return null;
    return film.stays.length > per ? number(film.stays, at(t, k, m)) : number(film.stays, k * columns + m);
  }
  function worked(t, k, m) {
    let count = 0;
    for (let s = 0; s <= t; s++) count += (film.state[at(s, k, m)] & WORKS) > 0;
    return count;
  }
  function drawPast() {
    const key = `${picked.k} ${picked.m}`;
    if (pastOf !== key) drawWholePast();
    pastOf = key;
    mark(past, pastStill, wide.past, 6, (wide.past - 12) / cycles, 68);
  }
  function drawWholePast() {
    const width = wide.past;
    const c = pastStill.getContext("2d");
    const { k, m } = picked;
    c.clearRect(0, 0, width, 74);
    const left = 6, right = width - 6, step = (right - left) / cycles;
    const values = outputs ? film.stays : film.down;
    const bit = outputs ? STAYS : DOWN;
    let most = 1e-30;
    for (let t = 0; t < cycles; t++) {
      const i = at(t, k, m);
      if (film.state[i] & bit && Number.isFinite(number(values, i))) most = Math.max(most, Math.abs(number(values, i)));
    }
    const y = (v) => 40 - 27 * Math.max(-1, Math.min(1, v / most));
    c.strokeStyle = tones.line;
    c.beginPath();
    c.moveTo(left, 40.5);
    c.lineTo(right, 40.5);
    c.stroke();
    for (let t = 0; t < cycles; t++) {
      const i = at(t, k, m);
      if (film.state[i] & WORKS) {
        c.fillStyle = tones.soft;
        c.fillRect(left + t * step, 13, Math.max(1, step), 54);
      }
      if (!(film.state[i] & bit)) continue;
      const value = number(values, i);
      c.fillStyle = value < 0 ? "#0072B2" : "#E69F00";
      const top = Math.min(40, y(value));
      c.fillRect(left + t * step, top, Math.max(1, step - (step > 4 ? 1 : 0)), Math.max(1.5, Math.abs(40 - y(value))));
    }
    c.fillStyle = tones.ink;
    c.font = "11px sans-serif";
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.fillText(`Its ${outputs ? "sum" : "sums"} over all cycles (largest ${long(most)})`, left, 6);
    past.setAttribute("aria-label", `History of the PE in row ${k}, column ${m}; its largest sum is ${long(most)}`);
  }
  function peAt(event) {
    const m = Math.floor((event.offsetX - box.left) / cell);
    const k = Math.floor((event.offsetY - box.top) / cell);
    return k >= 0 && k < rows && m >= 0 && m < columns ? { k, m } : null;
  }
  function pick(pe) {
    if (!pe || (pe.k === picked.k && pe.m === picked.m)) return;
    picked = pe;
    draw(now);
  }
  function hover(event) {
    if (event.pointerType === "mouse") pick(peAt(event));
  }
  function follow(event) {
    const pe = peAt(event);
    if (!pe) return;
    pick(pe);
    followPicked();
  }
  function followPicked() {
    const t = Math.floor(now);
    const { k, m } = picked;
    const found = outputs ? { m, n: k } : sumOf(t, k, m);
    if (found) choose(found.m, found.n);
  }
  function stageKey(event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Enter") followPicked();
    else if (moves[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const [dk, dm] = moves[event.key];
      pick({ k: Math.min(rows - 1, Math.max(0, picked.k + dk)), m: Math.min(columns - 1, Math.max(0, picked.m + dm)) });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- the life of one result -----------------------------------------------------------------
  function choose(m, n) {
    m = Math.min(film.m - 1, Math.max(0, Math.round(m) || 0));
    n = Math.min(film.n - 1, Math.max(0, Math.round(n) || 0));
    element = { m, n };
    mInput.value = String(m);
    nInput.value = String(n);
    steps = [];
    let psum = 0;
    for (const i of resultsOf.get(m * film.n + n) || []) {
      const column = film.r_column[i];
      const leaves = film.r_cycle[i];
      if (outputs) {
        for (let t = 0; t <= leaves; t++) {
          const j = at(t, n, column);
          if (film.state[j] & WORKS) steps.push({ t, k: n, column, stage: "multiply-add", w: number(film.across, j), x: number(film.down, j), sum: number(film.stays, j) });
        }
        for (let k = rows - 1, t = leaves; k >= n; k--, t--) steps.push({ t, k, column, stage: `leaving, row ${k}`, sum: number(film.leaving, at(t, k, column)) });
        steps.sort((a, b) => a.t - b.t);
        steps.push({ t: leaves + 1, k: -1, column, stage: "PSUM", sum: film.r_value[i] });
        continue;
      }
      for (let k = 0; k < rows; k++) {
        const t = leaves - (rows - 1) + k;
        const j = at(t, k, column);
        const works = film.state[j] & WORKS;
        steps.push({
          t, k, column, stage: `row ${k}`, sum: number(film.down, j),
          w: works ? weightAt(t, k, column) : null, x: works && film.across ? number(film.across, j) : null,
        });
      }
      psum = film.r_adds[i] ? Math.fround(psum + film.r_value[i]) : film.r_value[i];
      steps.push({ t: leaves + 1, k: -1, column, stage: film.r_adds[i] ? "PSUM, added" : "PSUM", sum: psum });
    }
    body.replaceChildren(...steps.map((s) => {
      const product = s.w === null || s.w === undefined ? "" : s.x === null ? `${four(s.w)} × …` : `${four(s.w)} × ${four(s.x)}`;
      return make("tr", { on: { click: () => (player.pause(), player.seek(Math.min(cycles - 1, s.t))) } },
        ...[String(s.t), s.stage, product, four(s.sum)].map((text) => make("td", {}, text)));
    }));
    markTable();
    draw(now);
  }
  function markTable() {
    const t = Math.floor(now);
    let current = null;
    steps.forEach((s, i) => {
      const row = body.children[i];
      const wanted = s.t === t ? "te-now" : s.t < t ? "te-done" : "te-ahead";
      if (row.className !== wanted) row.className = wanted;
      if (s.t === t) current = row;
    });
    if (current) {
      const top = current.offsetTop - scroll.clientHeight / 2;
      if (Math.abs(scroll.scrollTop - top) > scroll.clientHeight / 3) scroll.scrollTop = top;
    }
  }

  // ---- beginning and end ------------------------------------------------------------------------
  const retheme = () => {
    readTones();
    drawStrip();
    draw(now);
  };
  const themes = new MutationObserver(retheme);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const sizes = new ResizeObserver(resize);
  sizes.observe(root);
  readTones();
  resize();
  choose(film.follow[0], film.follow[1]);
  player.seek(Math.min(cycles - 1, model.get("cycle")));
  player.refresh();
  return () => {
    player.dispose();
    themes.disconnect();
    sizes.disconnect();
  };
}

export default { render };
