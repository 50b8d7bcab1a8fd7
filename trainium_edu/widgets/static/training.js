// Train live: controls, one row per arm with its numbers, loss and accuracy.
// Python trains and sends curves; this file draws them.  Joined behind playback.js (make, focusable).
const SVG = "http://www.w3.org/2000/svg";
const PLOT_HEIGHT = 250, PAD = { left: 44, right: 12, top: 30, bottom: 40 };

function shape(tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return node;
}

/** The learning rate as people write it: 0.003, not 3e-3. */
const plainNumber = (v) => String(Number(v.toPrecision(3)));

/** Three digits of a loss, however small. */
function lossText(v) {
  if (!Number.isFinite(v)) return "—";
  return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3);
}

function render({ model, el }) {
  const offer = model.get("offer"); // { rates, arms, most_epochs }
  let hover = null; // an epoch under the mouse, counted from 1
  let curves = {}; // arm -> { loss: Float32Array, accuracy: Float32Array, done: n }

  // ---- controls
  const rate = make("input", {
    ...focusable("Learning rate"), type: "range", min: 0, max: offer.rates.length - 1, step: 1, class: "te-tr-slider",
    on: { input: () => set("rate", offer.rates[Number(rate.value)]) },
  });
  const rateText = make("output", { class: "te-tr-value" });
  const epochs = make("input", {
    ...focusable("Epochs, passes over the training images"), type: "range", min: 5, max: offer.most_epochs, step: 5, class: "te-tr-slider",
    on: { input: () => { epochsText.textContent = epochs.value; }, change: () => set("epochs", Number(epochs.value)) },
  });
  const epochsText = make("output", { class: "te-tr-value" });
  const button = make("button", { ...focusable("Train again"), type: "button", class: "te-tr-button", on: { click: () => model.send({ do: model.get("running") ? "stop" : "start" }) } });
  const bar = make("div", { class: "te-tr-bar" },
    make("label", { class: "te-tr-control" }, "learning rate", rate, rateText),
    make("label", { class: "te-tr-control" }, "epochs", epochs, epochsText), button);

  const rows = offer.arms.map((arm) => {
    const box = make("input", {
      ...focusable(`Train ${arm.label}`), type: "checkbox",
      on: { change: () => set("shown", offer.arms.filter((_, i) => rows[i].box.checked).map((a) => a.name)) },
    });
    const sample = shape("svg", { width: 34, height: 12, "aria-hidden": "true" });
    sample.append(shape("line", { x1: 1, x2: 33, y1: 6, y2: 6, ...stroke(arm) }));
    const numbers = make("span", { class: "te-tr-numbers" });
    const element = make("label", { class: "te-tr-arm", style: `--c:${arm.colour}` }, box, sample, make("span", { class: "te-tr-name", title: arm.label }, arm.short), numbers);
    return { arm, box, numbers, element };
  });
  const legend = make("div", { class: "te-tr-legend", role: "group", "aria-label": "Ways to keep the weights" }, ...rows.map((r) => r.element));

  // ---- pictures
  const loss = makePlot("Training loss", "loss");
  const accuracy = makePlot("Accuracy on images never trained on, %", "accuracy");
  const plots = make("div", { class: "te-tr-plots" }, loss.element, accuracy.element);
  const words = make("div", { class: "te-tr-words", role: "status" });
  const root = make("div", { class: "te-tr", "data-lm-suppress-shortcuts": "true" }, bar, legend, plots, words);
  el.append(root);

  function stroke(arm) {
    return { stroke: arm.colour, "stroke-width": arm.width, "stroke-dasharray": arm.dash, "stroke-opacity": arm.opacity, fill: "none", "stroke-linejoin": "round", class: `te-tr-line te-tr-${arm.name}` };
  }
  function set(name, value) {
    if (JSON.stringify(model.get(name)) === JSON.stringify(value)) return;
    model.set(name, value);
    model.save_changes();
    showControls();
  }

  function makePlot(title, what) {
    const picture = shape("svg", { class: "te-tr-plot", height: PLOT_HEIGHT, role: "img" });
    const element = make("div", { class: "te-tr-frame" }, picture);
    picture.addEventListener("pointermove", (e) => {
      const width = picture.clientWidth - PAD.left - PAD.right;
      const at = ((e.clientX - picture.getBoundingClientRect().left - PAD.left) / width) * model.get("epochs");
      hover = at < 0.5 || at > model.get("epochs") + 0.5 ? null : Math.max(1, Math.round(at));
      draw();
    });
    picture.addEventListener("pointerleave", () => { hover = null; draw(); });
    return { element, picture, title, what };
  }

  function drawPlot(plot) {
    const { picture, title, what } = plot;
    const total = model.get("epochs");
    const width = Math.max(200, plot.element.clientWidth);
    const inner = width - PAD.left - PAD.right, high = PLOT_HEIGHT - PAD.top - PAD.bottom;
    picture.setAttribute("width", width);
    const x = (epoch) => PAD.left + (epoch / total) * inner;
    const log = what === "loss";
    let low = 0, top = 100, ticks = [0, 20, 40, 60, 80, 100];
    if (log) {
      const all = Object.values(curves).flatMap((c) => [...c.loss.subarray(0, c.done)]).filter((v) => Number.isFinite(v) && v > 0);
      low = Math.min(0.1, ...all) / 1.15;
      top = Math.max(3, ...all) * 1.15;
      ticks = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100].filter((t) => t >= low && t <= top);
    }
    const y = log
      ? (v) => PAD.top + high * (1 - Math.log(v / low) / Math.log(top / low))
      : (v) => PAD.top + high * (1 - (v - low) / (top * 1.02 - low));
    const parts = [shape("text", { x: PAD.left - 36, y: 16, class: "te-tr-title" }, title)];
    for (const t of ticks) {
      parts.push(shape("line", { x1: PAD.left, x2: width - PAD.right, y1: y(t), y2: y(t), class: "te-tr-grid" }));
      parts.push(shape("text", { x: PAD.left - 7, y: y(t) + 4, "text-anchor": "end", class: "te-tr-small" }, plainNumber(t)));
    }
    const step = [1, 2, 5, 10, 20, 50].find((s) => total / s <= 8) || 100;
    for (let e = 0; e <= total; e += step) {
      parts.push(shape("line", { x1: x(e), x2: x(e), y1: PAD.top, y2: PAD.top + high, class: "te-tr-grid" }));
      parts.push(shape("text", { x: x(e), y: PLOT_HEIGHT - PAD.bottom + 17, "text-anchor": "middle", class: "te-tr-small" }, String(e)));
    }
    parts.push(shape("text", { x: PAD.left + inner / 2, y: PLOT_HEIGHT - 5, "text-anchor": "middle", class: "te-tr-small" }, "epoch"));
    parts.push(shape("path", { d: `M${PAD.left},${PAD.top}V${PAD.top + high}H${width - PAD.right}`, class: "te-tr-axis" }));
    for (const arm of offer.arms) {
      const curve = curves[arm.name];
      if (!curve || !curve.done) continue;
      let path = "", pen = "M";
      for (let i = 0; i < curve.done; i++) {
        const v = log ? curve.loss[i] : 100 * curve.accuracy[i];
        if (!Number.isFinite(v) || (log && v <= 0)) { pen = "M"; continue; }
        path += `${pen}${x(i + 1).toFixed(1)},${y(v).toFixed(1)}`;
        pen = "L";
      }
      if (curve.done === 1) path += "h1";
      parts.push(shape("path", { d: path, ...stroke(arm) }));
    }
    if (hover) parts.push(shape("line", { x1: x(hover), x2: x(hover), y1: PAD.top, y2: PAD.top + high, class: "te-tr-hover" }));
    picture.replaceChildren(...parts);
    picture.setAttribute("aria-label", `${title}: ${model.get("words")}`);
  }

  function readCurves() {
    const view = model.get("curves"), arms = model.get("curve_arms");
    const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
    const numbers = new Float32Array(bytes);
    const n = arms.length ? numbers.length / (2 * arms.length) : 0;
    curves = {};
    arms.forEach((name, i) => {
      curves[name] = { loss: numbers.subarray(2 * i * n, (2 * i + 1) * n), accuracy: numbers.subarray((2 * i + 1) * n, (2 * i + 2) * n), done: model.get("done")[i] };
    });
  }

  let request = 0;
  function draw() {
    if (!request) request = requestAnimationFrame(() => { request = 0; drawNow(); });
  }
  function drawNow() {
    drawPlot(loss);
    drawPlot(accuracy);
    for (const { arm, numbers } of rows) {
      const curve = curves[arm.name];
      const last = curve ? Math.min(curve.done, hover || curve.done) : 0;
      numbers.textContent = last ? `${hover ? `epoch ${last}: ` : ""}loss ${lossText(curve.loss[last - 1])}, ${(100 * curve.accuracy[last - 1]).toFixed(1)} %` : "";
    }
  }
  function showControls() {
    rate.value = offer.rates.indexOf(model.get("rate"));
    rateText.textContent = plainNumber(model.get("rate"));
    rate.setAttribute("aria-valuetext", plainNumber(model.get("rate")));
    epochs.value = model.get("epochs");
    epochsText.textContent = model.get("epochs");
    for (const { arm, box } of rows) box.checked = model.get("shown").includes(arm.name);
    const running = model.get("running");
    button.textContent = running ? "■ Stop" : "▶ Train again";
    button.setAttribute("aria-label", running ? "Stop training" : "Train again");
    button.title = button.getAttribute("aria-label");
    words.textContent = running ? "Training …" : model.get("words");
    root.dataset.running = running ? "yes" : "no";
    root.dataset.drawn = model.get("words");
  }
  const onCurves = () => { readCurves(); draw(); };
  const names = ["rate", "epochs", "shown", "running", "words"];
  for (const name of names) model.on(`change:${name}`, showControls);
  for (const name of ["curves", "done", "epochs"]) model.on(`change:${name}`, onCurves);
  const resize = new ResizeObserver(draw);
  resize.observe(plots);
  showControls();
  onCurves();
  return () => {
    resize.disconnect();
    cancelAnimationFrame(request);
    for (const name of names) model.off(`change:${name}`, showControls);
    for (const name of ["curves", "done", "epochs"]) model.off(`change:${name}`, onCurves);
  };
}
export default { render };
