// Controls over a picture that Python describes as shapes (viz/scene.py) and this file draws at once.
// Nothing is computed here: a control's new value goes to Python, shapes, texts and a table come back.
const NS = "http://www.w3.org/2000/svg";
const TONES = {
  ink: "var(--jp-content-font-color1, #222)", muted: "var(--jp-ui-font-color2, #616161)",
  grid: "var(--jp-border-color2, #ddd)", paper: "var(--jp-layout-color0, #fff)",
};
const tone = (colour) => TONES[colour] || colour;

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
function svg(tag, style, attributes) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  Object.assign(node.style, style);
  return node;
}
const outline = (xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${x},${ys[i]}`).join("");
function named(node, words) { // what the page shows to a pointer that rests on it
  if (words) node.append(Object.assign(document.createElementNS(NS, "title"), { textContent: words }));
  return node;
}
const SHAPES = {
  rect: (x, y, width, height, colour, opacity, outline) =>
    svg("rect", outline ? { fill: "none", stroke: tone(colour), strokeWidth: 1.4 } : { fill: tone(colour), opacity }, { x, y, width, height }),
  line: (x1, y1, x2, y2, colour, width, dashed) =>
    svg("line", { stroke: tone(colour), strokeWidth: width, strokeDasharray: dashed ? "4 3" : "none" }, { x1, y1, x2, y2 }),
  ticks: (xs, top, bottom, colour, width, opacity) =>
    svg("path", { stroke: tone(colour), strokeWidth: width, opacity, fill: "none" }, { d: xs.map((x) => `M${x},${top}V${bottom}`).join("") }),
  path: (xs, ys, colour, width, dash, opacity, words) =>
    named(svg("path", { stroke: tone(colour), strokeWidth: width, opacity, fill: "none", strokeLinejoin: "round", strokeDasharray: { dashed: "6 4", dotted: "2 3" }[dash] || "none" }, { d: outline(xs, ys) }), words),
  area: (xs, ys, colour, opacity, words) => named(svg("path", { fill: tone(colour), opacity }, { d: outline(xs, ys) + "Z" }), words),
  text: (x, y, words, anchor, colour, size, bold) => {
    const node = svg("text", { fill: tone(colour), fontSize: `${size}px`, fontWeight: bold ? 700 : 400, fontVariantNumeric: "tabular-nums" }, { x, y, "text-anchor": anchor });
    node.textContent = words;
    return node;
  },
};

function render({ model, el: host }) {
  let width = 0, waiting = 0, again = false;
  let values = { ...model.get("values") };
  const label = model.get("label");

  // ---- controls
  const outputs = {}, inputs = {};
  const bars = model.get("controls").map((control) => {
    const { name, kind, text } = control;
    const common = { "data-lm-suppress-shortcuts": "true", "aria-label": text, title: control.help || text };
    let input;
    if (kind === "range") {
      input = el("input", { ...common, type: "range", min: control.min, max: control.max, step: control.step || 1, on: { input: () => send({ [name]: Number(input.value) }) } });
      outputs[name] = el("output", { class: "te-sk-out" });
    } else if (kind === "choice") {
      input = el("select", { ...common, on: { change: () => send({ [name]: input.value }) } }, ...control.options.map(([value, words]) => el("option", { value }, words)));
    } else {
      input = el("input", { ...common, type: "checkbox", on: { change: () => send({ [name]: input.checked }) } });
    }
    inputs[name] = input;
    const parts = kind === "check" ? [input, " ", text] : [el("span", { class: "te-sk-name" }, text), input];
    return el("label", { class: `te-sk-control te-sk-${kind}` }, ...parts, ...(outputs[name] ? [outputs[name]] : []));
  });
  const buttons = model.get("buttons").map(([name, words, help]) =>
    el("button", { type: "button", class: "te-sk-button", "data-lm-suppress-shortcuts": "true", "aria-label": help, title: help, on: { click: () => model.send({ press: name }) } }, words));
  const drawn = el("div", { class: "te-sk-drawn" });
  const wipe = el("input", { type: "range", class: "te-sk-wipe", min: 0, max: 1000, value: 500, step: 10, "data-lm-suppress-shortcuts": "true", "aria-label": "Wipe: before on the left, after on the right", title: "Drag: before on the left, after on the right", on: { input: () => uncover() } });
  const stage = el("div", { class: "te-sk-stage" }, drawn, wipe);
  let after = null; // the canvas that the wipe uncovers
  function uncover() {
    if (after) after.style.clipPath = `inset(0 0 0 ${wipe.value / 10}%)`;
    wipe.setAttribute("aria-valuetext", `${Math.round(wipe.value / 10)} % before`);
  }
  const said = el("div", { class: "te-sk-said" });
  const table = el("table", { class: "te-sk-table" });
  const live = el("div", { class: "te-sk-live", "aria-live": "polite" });
  const box = el("div", { class: "te-sk", role: "group", "aria-label": label }, el("div", { class: "te-sk-controls" }, ...bars, ...buttons), stage, said, el("div", { class: "te-sk-scroll" }, table), live);
  host.append(box);

  // ---- talking to Python: one question under way, the newest one next
  function send(change) {
    Object.assign(values, change);
    if (waiting) { again = true; return; }
    waiting = setTimeout(answered, 3000);
    values.ask = (values.ask || 0) + 1;
    model.set("values", { ...values });
    model.save_changes();
  }
  function answered() {
    clearTimeout(waiting);
    waiting = 0;
    if (again) { again = false; send({}); }
  }

  function draw() {
    const page = model.get("page");
    const scene = page.scene;
    if (!again) values = { ...model.get("values") };
    for (const [name, input] of Object.entries(inputs)) {
      if (again && input === document.activeElement) continue;
      if (input.type === "checkbox") input.checked = values[name];
      else if (input.value !== String(values[name])) input.value = String(values[name]);
      if (page.ranges[name]) [input.min, input.max] = page.ranges[name];
      if (outputs[name]) {
        outputs[name].textContent = page.outputs[name] ?? String(values[name]);
        input.setAttribute("aria-valuetext", outputs[name].textContent);
      }
    }
    const picture = svg("svg", {}, { width: scene.width, height: scene.height, role: "img", "aria-label": scene.alt });
    picture.append(...scene.shapes.map(([kind, ...rest]) => SHAPES[kind](...rest)));
    const view = model.get("pixels");
    const canvases = scene.images.map(([x, y, w, h, columns, rows, offset]) => {
      const canvas = el("canvas", { width: columns, height: rows, "aria-hidden": "true", style: `left:${x}px;top:${y}px;width:${w}px;height:${h}px` });
      const bytes = new Uint8ClampedArray(view.buffer, view.byteOffset + offset, columns * rows * 4);
      canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(bytes), columns, rows), 0, 0);
      return canvas;
    });
    drawn.replaceChildren(...canvases, picture);
    after = canvases[scene.wipe] || null;
    wipe.hidden = !after;
    if (after) {
      const [x, y, w, h] = scene.images[scene.wipe];
      wipe.style.cssText = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
      uncover();
    }
    stage.style.height = `${scene.height}px`;
    said.replaceChildren(...page.said.map((words) => el("p", {}, ...words.split("**").map((part, i) => (i % 2 ? el("strong", {}, part) : part)))));
    table.replaceChildren();
    if (page.table) {
      table.append(el("thead", {}, el("tr", {}, ...page.table.head.map((words) => el("th", { scope: "col" }, words)))));
      table.append(el("tbody", {}, ...page.table.rows.map((row) => el("tr", row.marked ? { class: "te-sk-marked" } : {},
        ...row.cells.map((words, i) => (i ? el("td", {}, words) : el("th", { scope: "row" }, ...(row.colour ? [el("i", { style: `background:${row.colour}` }), " "] : []), words)))))));
    }
    live.textContent = page.said.join(" ").replaceAll("**", "");
    host.dataset.drawn = String(Number(host.dataset.drawn || 0) + 1);
    answered();
  }
  model.on("change:page", draw);
  const watcher = new ResizeObserver(() => {
    if (Math.abs(stage.clientWidth - width) < 3) return;
    width = stage.clientWidth;
    if (width > 100 && Math.abs(width - model.get("page").scene.width) > 3) send({ width });
  });
  watcher.observe(stage);
  draw();
  return () => { watcher.disconnect(); clearTimeout(waiting); model.off("change:page", draw); };
}
export default { render };
