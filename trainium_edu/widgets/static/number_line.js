// The number line: drag x, see where each format puts it.  Every value shown comes from Python
// (trainium_edu.numerics); this file places it on the page and reports where the learner dragged.
//
// A row's numbers arrive as pieces [first, spacing, count, drawn]: evenly spaced runs, as the numbers
// of one binade are.  Runs too fine to draw (drawn = 0) become a band.
const NS = "http://www.w3.org/2000/svg";
const ROW = 58, AXIS = 30, HANDLE = 26, BASE = 30;

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
function svg(tag, attributes = {}, text = null) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return node;
}
const focusable = (name) => ({ "aria-label": name, title: name, "data-lm-suppress-shortcuts": "true" });

/** Round numbers for the axis: steps of 1, 2 or 5 times a power of ten. */
function axisTicks(lo, hi, width) {
  const raw = (hi - lo) / Math.max(3, width / 90);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const ticks = [];
  for (let k = Math.ceil(lo / step); k * step <= hi && ticks.length < 60; k++) ticks.push(k);
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const text = (k) => {
    const v = k * step;
    if (v === 0) return "0";
    if (digits <= 5 && Math.abs(v) < 1e7) return v.toFixed(digits);
    const significant = Math.max(1, 1 + Math.floor(Math.log10(Math.abs(v))) - Math.floor(Math.log10(step)));
    return v.toExponential(Math.min(12, significant - 1));
  };
  return ticks.map((k) => [k * step, text(k)]);
}

function render({ model, el: host }) {
  const formats = model.get("formats"); // [{name, label, split, colour, about}]
  let view = { ...model.get("view") };
  let width = 0, waiting = 0, again = false;
  const at = (v) => ((v - view.lo) / (view.hi - view.lo)) * width;

  // ---- the page
  const typed = el("input", {
    ...focusable("x, a number such as 0.1 or 1/3; Enter looks it up"), type: "text", class: "te-nl-x", size: 14,
    on: { keydown: (e) => { e.stopPropagation(); if (e.key === "Enter") ask({ do: "type", text: typed.value }); } },
  });
  const go = el("button", { ...focusable("Look up the number typed"), type: "button", class: "te-button", on: { click: () => ask({ do: "type", text: typed.value }) } }, "Go");
  const presets = model.get("presets").map((text) =>
    el("button", { ...focusable(`Try x = ${text}`), type: "button", class: "te-button", on: { click: () => ask({ do: "type", text }) } }, text));
  const message = el("span", { class: "te-nl-message", role: "status" });
  const top = el("div", { class: "te-nl-bar" },
    el("span", { class: "te-nl-label" }, "x ="), typed, go, el("span", { class: "te-nl-hint" }, "or try"), ...presets, message);

  const boxes = formats.map((f) => {
    const box = el("input", {
      ...focusable(`Show ${f.label}`), type: "checkbox",
      on: { change: () => send({ shown: formats.filter((g, i) => boxes[i].checked).map((g) => g.name) }) },
    });
    return box;
  });
  const choice = el("div", { class: "te-nl-bar", role: "group", "aria-label": "Formats shown" },
    el("span", { class: "te-nl-label" }, "Formats"),
    ...formats.map((f, i) => el("label", { class: "te-nl-chip", style: `--c:${f.colour}`, title: f.about }, boxes[i], el("i", {}), f.label)));

  const needle = svg("svg", { class: "te-nl-needle", height: HANDLE, role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 1000 });
  needle.setAttribute("data-lm-suppress-shortcuts", "true");
  needle.setAttribute("aria-label", "x; arrow keys move it, Page Up and Page Down go to the next number of the first format, plus and minus zoom, Home and End slide the window");
  const rows = el("div", { class: "te-nl-rows" });
  const axis = svg("svg", { class: "te-nl-axis", height: AXIS, "aria-hidden": "true" });
  const stage = el("div", { class: "te-nl-stage" }, needle, rows, axis);

  const tool = (name, text, action) => el("button", { ...focusable(name), type: "button", class: "te-button", on: { click: action } }, text);
  const bottom = el("div", { class: "te-nl-bar" },
    tool("Slide the window to smaller numbers", "◀", () => slide(-0.5)),
    tool("Zoom out", "− zoom out", () => zoom(2)),
    tool("Zoom in around x", "+ zoom in", () => zoom(0.5)),
    tool("Slide the window to larger numbers", "▶", () => slide(0.5)),
    tool("Show the first view again", "reset", () => ask({ do: "reset" })),
    el("span", { class: "te-nl-hint" }, "Drag anywhere on the lines. Keys: ← → move x (Shift: fine), Page Up/Down next number, + − zoom."));
  host.append(el("div", { class: "te-nl", "data-lm-suppress-shortcuts": "true" }, top, choice, stage, bottom));

  // ---- talking to Python: at most one question under way, the newest one next
  function send(change) {
    Object.assign(view, change);
    drawNeedle();
    if (waiting) { again = true; return; }
    waiting = setTimeout(answered, 1500);
    view.ask = (view.ask || 0) + 1; // so that every question has an answer, even the same one twice
    model.set("view", { ...view });
    model.save_changes();
  }
  function ask(content) { model.send(content); }
  function answered() {
    clearTimeout(waiting);
    waiting = 0;
    if (again) { again = false; send({}); }
  }
  function zoom(factor) {
    const half = ((view.hi - view.lo) / 2) * factor;
    const scale = Math.max(Math.abs(view.x), 1e-30);
    if (half < scale * 1e-6 || half < 1e-42 || half > 3e38) return;
    send({ lo: view.x - half, hi: view.x + half });
  }
  function slide(share) {
    const by = share * (view.hi - view.lo);
    send({ lo: view.lo + by, hi: view.hi + by });
  }
  /** Move x to what one screen pixel can tell apart, as a short decimal. */
  function moveTo(x) {
    const pixel = (view.hi - view.lo) / Math.max(width, 100);
    const unit = 10 ** Math.floor(Math.log10(pixel));
    const tidy = Number((Math.round(x / unit) * unit).toPrecision(9));
    let { lo, hi } = view;
    if (tidy < lo || tidy > hi) { const by = tidy < lo ? tidy - lo : tidy - hi; lo += by; hi += by; }
    send({ x: Math.abs(tidy) < unit / 2 ? 0 : tidy, lo, hi });
  }

  // ---- mouse, touch and keys
  let dragging = false;
  const pointerX = (e) => view.lo + ((e.clientX - stage.getBoundingClientRect().left) / width) * (view.hi - view.lo);
  stage.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || e.target.closest("button")) return;
    dragging = true;
    stage.setPointerCapture(e.pointerId);
    needle.focus({ preventScroll: true });
    moveTo(Math.min(view.hi, Math.max(view.lo, pointerX(e))));
    e.preventDefault();
  });
  stage.addEventListener("pointermove", (e) => { if (dragging) moveTo(Math.min(view.hi, Math.max(view.lo, pointerX(e)))); });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => { dragging = false; });
  needle.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = ((view.hi - view.lo) / Math.max(width, 100)) * (e.shiftKey ? 1 : 8);
    const actions = {
      ArrowRight: () => moveTo(view.x + step), ArrowUp: () => moveTo(view.x + step),
      ArrowLeft: () => moveTo(view.x - step), ArrowDown: () => moveTo(view.x - step),
      PageUp: () => ask({ do: "neighbour", way: 1 }), PageDown: () => ask({ do: "neighbour", way: -1 }),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      Home: () => slide(-0.5), End: () => slide(0.5),
    };
    if (!actions[e.key]) return;
    actions[e.key]();
    e.preventDefault();
    e.stopPropagation();
  });

  // ---- drawing
  const edge = (x) => (x < 24 ? "start" : x > width - 24 ? "end" : "middle");
  const lines = []; // one per row: its needle
  function drawNeedle() {
    const x = at(view.x);
    needle.replaceChildren();
    const text = model.get("answer").x_text && view.x === model.get("answer").x ? model.get("answer").x_text : String(Number(view.x.toPrecision(7)));
    const anchor = x < 60 ? "start" : x > width - 60 ? "end" : "middle";
    needle.append(
      svg("text", { x: anchor === "start" ? x + 10 : anchor === "end" ? x - 10 : x + 12, y: 12, "text-anchor": anchor === "middle" ? "start" : anchor, class: "te-nl-xtext" }, `x = ${text}`),
      svg("path", { d: `M${x - 7},4 h14 v10 l-7,10 l-7,-10 z`, class: "te-nl-handle" }));
    for (const line of lines) { line.setAttribute("x1", x); line.setAttribute("x2", x); }
    if (document.activeElement !== typed) typed.value = text;
    needle.setAttribute("aria-valuenow", Math.round((1000 * (view.x - view.lo)) / (view.hi - view.lo)));
  }
  function drawRow(row) {
    const format = formats.find((f) => f.name === row.name);
    const picture = svg("svg", { class: "te-nl-line", height: ROW, "aria-hidden": "true" });
    const out = view.lo, end = view.hi;
    // where there are no numbers any more
    for (const [from, to] of row.beyond) {
      const a = Math.max(0, at(Math.max(from, out))), b = Math.min(width, at(Math.min(to, end)));
      if (b > a) {
        picture.append(svg("rect", { x: a, y: BASE - 20, width: b - a, height: 28, class: "te-nl-beyond" }));
        if (b - a > 130) picture.append(svg("text", { x: (a + b) / 2, y: BASE + 20, "text-anchor": "middle", class: "te-nl-small" }, row.beyond_text));
      }
    }
    picture.append(svg("line", { x1: 0, x2: width, y1: BASE, y2: BASE, class: "te-nl-base" }));
    // the gap in which x lies
    if (row.below !== null && row.above !== null && row.above > row.below) {
      const a = Math.max(0, at(row.below)), b = Math.min(width, at(row.above));
      if (b - a > 1) picture.append(svg("rect", { x: a, y: BASE - 18, width: b - a, height: 18, class: "te-nl-gap" }));
    }
    let path = "", bands = 0;
    const labels = [];
    for (const [first, spacing, count, drawn] of row.pieces) {
      if (drawn) {
        const wide = (spacing / (end - out)) * width > 46 && row.labelled;
        for (let k = 0; k < count; k++) {
          const v = first + k * spacing, x = at(v);
          if (x < -1 || x > width + 1) continue;
          path += `M${x.toFixed(1)},${BASE - 12}V${BASE + 5}`;
          if (wide) labels.push([x, v]);
        }
      } else {
        const a = Math.max(0, at(first)), b = Math.min(width, at(first + (count - 1) * spacing));
        picture.append(svg("rect", { x: a, y: BASE - 12, width: Math.max(1, b - a), height: 17, class: "te-nl-band" }));
        bands += Math.max(1, b - a);
      }
    }
    if (path) picture.append(svg("path", { d: path, class: "te-nl-ticks" }));
    const own = [row.below, row.above, row.value].filter((v) => v !== null).map(at);
    for (const [x, v] of labels) {
      if (own.some((o) => Math.abs(o - x) < 40)) continue;
      picture.append(svg("text", { x, y: BASE + 19, "text-anchor": edge(x), class: "te-nl-small" }, String(Number(v.toPrecision(7))).replace("-", "−")));
    }
    // the two neighbours, with their values where there is room
    const a = row.below === null ? null : at(row.below), b = row.above === null ? null : at(row.above);
    const room = a !== null && b !== null && b - a > 12;
    for (const [x, text, side] of [[a, row.below_text, -1], [b, row.above_text, 1]]) {
      if (x === null || x < -2 || x > width + 2) continue;
      picture.append(svg("line", { x1: x, x2: x, y1: BASE - 18, y2: BASE + 7, class: "te-nl-near" }));
      if (!room && a !== b) continue;
      const crowded = b - a < 70 && a !== b;
      const anchor = crowded ? (side < 0 ? "end" : "start") : edge(x);
      picture.append(svg("text", { x: crowded ? x - side * -2 : x, y: BASE + 19, "text-anchor": anchor, class: "te-nl-neartext" }, text));
      if (a === b) break;
    }
    if (bands > width * 0.6 && row.band_text) picture.append(svg("text", { x: width - 4, y: BASE + 19, "text-anchor": "end", class: "te-nl-small" }, row.band_text));
    const line = svg("line", { y1: 0, y2: ROW, class: "te-nl-xline" });
    lines.push(line);
    picture.append(line);
    // from x to where it lands
    if (row.value !== null) {
      const from = at(row.x), to = at(row.value);
      if (Math.abs(to - from) > 2) {
        const tip = Math.max(-8, Math.min(width + 8, to));
        picture.append(svg("path", { d: `M${from},${BASE - 22} Q${(from + tip) / 2},${BASE - 34} ${tip},${BASE - 9}`, class: "te-nl-arrow" }));
      }
      if (to > -6 && to < width + 6) picture.append(svg("circle", { cx: to, cy: BASE, r: 5.5, class: "te-nl-dot" }));
    } else if (row.way) {
      const x = at(row.x), tip = row.way > 0 ? width - 8 : 8;
      picture.append(svg("path", { d: `M${x},${BASE - 14} H${tip} m${-8 * row.way},-5 l${8 * row.way},5 l${-8 * row.way},5`, class: "te-nl-arrow" }));
    }
    const bits = el("span", { class: "te-nl-bits", title: "sign, exponent, mantissa bits of the number x lands on", "aria-hidden": "true" },
      ...row.bits.map(([kind, text]) => el("b", { class: `te-nl-${kind}` }, text)));
    const head = el("div", { class: "te-nl-text" },
      el("span", { class: "te-nl-name", title: format.about }, el("i", {}), " ", format.label), bits,
      el("span", { class: "te-nl-lands" }, row.before, " ", el("strong", {}, row.lands), " ", row.error),
      el("span", { class: "te-nl-spacing" }, row.near),
      row.can_zoom ? el("button", { ...focusable(`Zoom until the numbers of ${format.label} stand apart`), type: "button", class: "te-nl-zoom", on: { click: () => ask({ do: "closer", format: row.name }) } }, "zoom to its numbers") : "");
    return el("section", { class: "te-nl-row", style: `--c:${format.colour}`, "aria-label": row.sentence }, head, picture);
  }
  function drawAxis() {
    axis.replaceChildren(svg("line", { x1: 0, x2: width, y1: 1, y2: 1, class: "te-nl-base" }));
    for (const [v, text] of axisTicks(view.lo, view.hi, width)) {
      const x = at(v);
      if (x < 0 || x > width) continue;
      axis.append(svg("line", { x1: x, x2: x, y1: 0, y2: 6, class: "te-nl-base" }));
      axis.append(svg("text", { x, y: 20, "text-anchor": edge(x), class: "te-nl-small" }, text.replace(/-/g, "−")));
    }
  }
  function draw() {
    width = Math.max(200, stage.clientWidth);
    if (Math.abs(view.width - width) > 50) setTimeout(() => send({ width }), 0);
    const answer = model.get("answer");
    for (const s of [needle, axis]) s.setAttribute("width", width);
    const focused = rows.contains(document.activeElement);
    lines.length = 0;
    rows.replaceChildren(...answer.rows.map(drawRow));
    for (const s of rows.querySelectorAll("svg")) s.setAttribute("width", width);
    if (focused) needle.focus({ preventScroll: true });
    message.textContent = answer.message;
    formats.forEach((f, i) => { boxes[i].checked = view.shown.includes(f.name); });
    drawAxis();
    drawNeedle();
    needle.setAttribute("aria-valuetext", [`x = ${answer.x_text}`, ...answer.rows.map((r) => r.sentence)].join(". "));
    host.dataset.drawn = String(Number(host.dataset.drawn || 0) + 1);
    answered();
  }
  function fromPython() {
    if (waiting || dragging) return; // our own question: its answer comes next
    view = { ...model.get("view") };
    draw();
  }
  model.on("change:answer", () => {
    if (!again && !dragging) view = { ...model.get("view") };
    draw();
  });
  model.on("change:view", fromPython);
  const watcher = new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 1) draw(); });
  watcher.observe(stage);
  draw();
  return () => { watcher.disconnect(); clearTimeout(waiting); };
}
export default { render };
