// The rounding explorer: drag x between its neighbours, throw the dice.  Python throws (numerics'
// Philox tosses) and counts; this file draws, and shows x's exact odds while it is dragged.
// Joined behind playback.js (make, focusable).
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 262, LINE = 186, BAR = 132, BAR_WIDTH = 64;

function shape(tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return node;
}
const spaced = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const tidy = (v) => String(Number(v.toPrecision(9))).replace("-", "−");
const percent = (p) => `${(100 * p).toFixed(2)} %`;

function render({ model, el }) {
  let width = 0, place = model.get("place"), dragging = false, flights = [];

  // ---- controls
  const button = (name, text, content) =>
    make("button", { ...focusable(name), type: "button", class: "te-re-button", on: { click: () => model.send(content) } }, text);
  const format = make("select", {
    ...focusable("Format"), class: "te-re-select",
    on: { change: () => { model.set("format", format.value); model.save_changes(); } },
  }, ...model.get("formats").map(([name, label]) => make("option", { value: name }, label)));
  const typed = make("input", {
    ...focusable("x, a positive number; Enter goes there"), type: "text", size: 12, class: "te-re-typed",
    on: { keydown: (e) => { e.stopPropagation(); if (e.key === "Enter") model.send({ do: "type", text: typed.value }); } },
  });
  const bar = make("div", { class: "te-re-bar" },
    make("label", {}, "format ", format), make("label", {}, "x = ", typed),
    button("Go to the number typed", "Go", { do: "type", get text() { return typed.value; } }),
    make("span", { class: "te-re-gap" }), make("strong", {}, "Throw the dice"),
    button("Throw once", "1 ×", { do: "throw", n: 1 }),
    button("Throw ten times", "10 ×", { do: "throw", n: 10 }),
    button("Throw ten thousand times", "10 000 ×", { do: "throw", n: 10000 }),
    button("Forget the throws", "forget", { do: "forget" }));
  const message = make("div", { class: "te-re-message", role: "status" });

  // ---- the picture
  const stage = shape("svg", { class: "te-re-stage", height: HEIGHT });
  const backdrop = shape("g", { "aria-hidden": "true" });
  const needle = shape("g", { class: "te-re-needle", tabindex: 0, role: "slider", "aria-label": "x between its two neighbours", "aria-valuemin": 0, "data-lm-suppress-shortcuts": "true" });
  const air = shape("g", { "aria-hidden": "true" });
  stage.append(backdrop, needle, air);
  const words = make("div", { class: "te-re-words", role: "status" });
  const bits = make("div", { class: "te-re-bits" });
  const root = make("div", { class: "te-re", "data-lm-suppress-shortcuts": "true" }, bar, message, stage, words, bits);
  el.append(root);

  const margin = () => Math.min(150, Math.max(92, width * 0.14));
  const at = (share) => margin() + share * (width - 2 * margin());
  const odds = () => place / model.get("gap").ticks;
  const value = () => { const g = model.get("gap"); return g.lower + (g.upper - g.lower) * odds(); };
  const goesUp = () => { const p = odds(); return p > 0.5 || (p === 0.5 && model.get("gap").tie_goes_up); };

  function moveTo(to) {
    const next = Math.max(0, Math.min(model.get("gap").ticks - 1, Math.round(to)));
    if (next === place) return;
    place = next;
    model.set("place", place);
    model.save_changes();
    draw();
  }
  function fromPointer(e) {
    const inner = width - 2 * margin();
    const ticks = model.get("gap").ticks;
    const share = (e.clientX - stage.getBoundingClientRect().left - margin()) / inner;
    const coarse = ticks / Math.min(ticks, 1024); // a pixel is no finer than this
    moveTo(Math.round((share * ticks) / coarse) * coarse);
  }
  stage.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    dragging = true;
    stage.setPointerCapture(e.pointerId);
    needle.focus({ preventScroll: true });
    fromPointer(e);
    e.preventDefault();
  });
  stage.addEventListener("pointermove", (e) => { if (dragging) fromPointer(e); });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => { dragging = false; });
  needle.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const ticks = model.get("gap").ticks, step = e.shiftKey ? 1 : ticks / 128;
    const to = { ArrowRight: place + step, ArrowUp: place + step, ArrowLeft: place - step, ArrowDown: place - step,
      PageUp: place + ticks / 8, PageDown: place - ticks / 8, Home: 0, End: ticks - 1 }[e.key];
    if (to === undefined) return;
    moveTo(to);
    e.preventDefault();
    e.stopPropagation();
  });

  // ---- drawing
  let request = 0;
  function draw() { if (!request) request = requestAnimationFrame(() => { request = 0; drawNow(); }); }

  function drawNow() {
    const g = model.get("gap"), tally = model.get("tally");
    const fits = model.get("place") === place; // else the throws belong to the place before
    const n = fits ? tally.n : 0, up = fits ? tally.up : 0;
    width = Math.max(300, root.clientWidth);
    stage.setAttribute("width", width);
    const p = odds(), parts = [];
    const left = at(0), right = at(1), here = at(p);

    for (const [x, chance, count, text] of [[left, 1 - p, n - up, g.lower_text], [right, p, up, g.upper_text]]) {
      const side = x === left ? "down" : "up";
      if (n) parts.push(shape("rect", { x: x - BAR_WIDTH / 2, y: LINE - (BAR * count) / n, width: BAR_WIDTH, height: (BAR * count) / n, class: "te-re-count" }));
      parts.push(shape("rect", { x: x - BAR_WIDTH / 2, y: LINE - BAR * chance, width: BAR_WIDTH, height: BAR * chance, class: "te-re-odds" }));
      parts.push(shape("text", { x, y: 16, "text-anchor": "middle", class: "te-re-strong" }, n ? `${side}: ${spaced(count)} of ${spaced(n)}` : side));
      parts.push(shape("text", { x, y: 33, "text-anchor": "middle", class: "te-re-text" }, n ? `${percent(count / n)}; exact ${percent(chance)}` : `exact ${percent(chance)}`));
      parts.push(shape("line", { x1: x, x2: x, y1: LINE - 7, y2: LINE + 9, class: "te-re-end" }));
      parts.push(shape("text", { x, y: LINE + 27, "text-anchor": "middle", class: "te-re-strong" }, text));
    }
    parts.push(shape("line", { x1: left - 40, x2: right + 40, y1: LINE, y2: LINE, class: "te-re-line" }));
    for (let k = 1; k < 8; k++) parts.push(shape("line", { x1: at(k / 8), x2: at(k / 8), y1: LINE - (k === 4 ? 6 : 3), y2: LINE + (k === 4 ? 6 : 3), class: "te-re-tick" }));
    if (place) {
      const goal = goesUp() ? right - BAR_WIDTH / 2 - 3 : left + BAR_WIDTH / 2 + 3, way = goesUp() ? -1 : 1;
      const y = LINE - 74, room = Math.abs(here - goal);
      parts.push(shape("path", { d: `M${here},${y}H${goal}m${way * 9},-6l${-way * 9},6l${way * 9},6`, class: "te-re-nearest" }));
      const label = `nearest-even: always ${goesUp() ? "up" : "down"}${p === 0.5 ? " (a tie: to the even one)" : ""}`;
      const inside = room > 190;
      parts.push(shape("text", { x: inside ? (here + goal) / 2 : here - way * -8, y: y - 9, "text-anchor": inside ? "middle" : way < 0 ? "end" : "start", class: "te-re-nearesttext" }, label));
    }
    if (n) {
      const mean = at(up / n);
      parts.push(shape("path", { d: `M${mean},${LINE - 9}l9,9l-9,9l-9,-9z`, class: "te-re-mean" }));
      const anchor = mean < left + 100 ? "start" : mean > right - 100 ? "end" : "middle";
      const shift = anchor === "start" ? Math.max(0, left + BAR_WIDTH / 2 + 6 - mean) : anchor === "end" ? Math.min(0, right - BAR_WIDTH / 2 - 6 - mean) : 0;
      parts.push(shape("text", { x: mean + shift, y: LINE - 17, "text-anchor": anchor, class: "te-re-meantext" }, "mean of the throws"));
    }
    backdrop.replaceChildren(...parts);

    const anchor = here < left + 70 ? "start" : here > right - 70 ? "end" : "middle";
    needle.replaceChildren(
      shape("path", { d: `M${here},${LINE + 3}l9,15v16h-18v-16z`, class: "te-re-handle" }),
      shape("text", { x: here, y: LINE + 54, "text-anchor": anchor, class: "te-re-x" }, `x = ${tidy(value())}`));
    needle.setAttribute("aria-valuemax", g.ticks);
    needle.setAttribute("aria-valuenow", place);
    needle.setAttribute("aria-valuetext", `x = ${tidy(value())}; up with probability ${percent(p)}`);
    stage.setAttribute("aria-label", "a number between its two neighbours, with the counts of the throws");
    if (document.activeElement !== typed) typed.value = tidy(value());
    format.value = model.get("format");
    message.textContent = model.get("message");

    const gapSize = g.upper - g.lower, miss = goesUp() ? 1 - p : -p;
    const sentence = [`The gap is ${tidy(gapSize)} wide; x lies ${percent(p)} of the way up, so it goes up with probability ${percent(p)}.`];
    if (n) sentence.push(`Mean of ${spaced(n)} throw${n > 1 ? "s" : ""}: ${tidy(g.lower + (gapSize * up) / n)}, off by ${signed(up / n - p)} of the gap (chance alone gives about ±${percent(Math.sqrt((p * (1 - p)) / n))}).`);
    sentence.push(`Nearest-even is off by ${signed(miss)} of the gap, every time.`);
    words.textContent = sentence.join(" ");
    drawBits(g, fits ? tally : { n: 0, tosses: [], went_up: [] });
    root.dataset.throws = String(n);
  }
  const signed = (v) => `${v < 0 ? "−" : "+"}${percent(Math.abs(v))}`;

  /** The last toss: the dropped bits plus 16 random bits; a carry reaches the kept part. */
  function drawBits(g, tally) {
    const drop = g.dropped_bits, kept = g.kept;
    const dropped = (BigInt(place) << BigInt(drop)) / BigInt(g.ticks);
    const lead = dropped.toString(2).padStart(drop, "0").slice(0, 16).padEnd(16, "0"); // what the toss is added to
    const split = (k) => [k[0], k.slice(1, 9), k.slice(9)];
    const row = (name, keptText, low, marked, note) => make("tr", {},
      make("th", { scope: "row" }, name),
      make("td", { class: "te-re-kept" }, ...keptText.map((t, i) => make("span", { class: ["te-re-sign", "te-re-exponent", "te-re-mantissa"][i] }, t))),
      make("td", { class: `te-re-low${marked ? " te-re-cut" : ""}` }, low), make("td", { class: "te-re-note" }, note));
    const rows = [row("x in FP32", split(kept), lead, false, `${drop} bits too many${drop > 16 ? "; the first 16 count" : drop < 16 ? `, and ${16 - drop} zeros` : ""}`)];
    if (tally.tosses.length) {
      const last = tally.tosses.length - 1, toss = tally.tosses[last];
      const sum = parseInt(lead, 2) + toss, carry = sum >= 65536;
      rows.push(row("+ toss", ["", "", ""], toss.toString(2).padStart(16, "0"), false, "16 random bits"));
      rows.push(row("= sum", split(carry ? g.kept_up : kept), (sum % 65536).toString(2).padStart(16, "0"), true,
        carry ? `a carry: up to ${g.upper_text}` : `no carry: down to ${g.lower_text}`));
    }
    const history = tally.tosses.length > 1
      ? make("div", { class: "te-re-history" }, `The ${tally.n > 10 ? "first ten of the last" : "last"} throws: `, ...tally.went_up.map((u) => make("span", { class: u ? "te-re-went-up" : "te-re-went-down" }, u ? "▲ " : "▽ ")))
      : "";
    bits.replaceChildren(make("div", { class: "te-re-caption" }, "How the dice decide: add random bits to what is dropped, then cut"),
      make("table", {}, make("tbody", {}, ...rows)), history);
  }

  // ---- throws in flight: at most ten balls from x to where they landed
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  function fly() {
    const tally = model.get("tally");
    if (calm.matches || !tally.n || !tally.went_up.length) return;
    const begin = performance.now();
    flights = tally.went_up.map((up, i) => ({ from: at(odds()), to: at(up ? 1 : 0), start: begin + i * 45 }));
    requestAnimationFrame(frame);
  }
  function frame(now) {
    air.replaceChildren();
    let busy = false;
    for (const f of flights) {
      const t = (now - f.start) / 420;
      if (t >= 1) continue;
      busy = true;
      if (t < 0) continue;
      air.append(shape("circle", { cx: f.from + (f.to - f.from) * t, cy: LINE - 10 - 320 * t * (1 - t), r: 5, class: "te-re-ball" }));
    }
    if (busy && root.isConnected) requestAnimationFrame(frame);
  }

  const onTally = () => { draw(); fly(); };
  const onGap = () => { place = model.get("place"); draw(); };
  const onPlace = () => { if (!dragging) place = model.get("place"); draw(); };
  const listen = [["change:tally", onTally], ["change:gap", onGap], ["change:place", onPlace], ["change:message", draw], ["change:format", draw]];
  for (const [event, f] of listen) model.on(event, f);
  const resize = new ResizeObserver(draw);
  resize.observe(root);
  drawNow();
  return () => {
    resize.disconnect();
    cancelAnimationFrame(request);
    flights = [];
    for (const [event, f] of listen) model.off(event, f);
  };
}
export default { render };
