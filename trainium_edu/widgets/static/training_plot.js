// One curve of a film in an SVG: the axes are drawn once, the curve grows with the position.
// Joined behind playback.js (make).
const SVG = "http://www.w3.org/2000/svg";
const PLOT = { height: 210, left: 48, right: 14, top: 30, bottom: 40 };

function shape(tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return node;
}

/** Three digits of a loss, however small. */
function lossText(v) {
  if (!Number.isFinite(v)) return "—";
  return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3);
}

/** Make a plot; `log` scales the loss, otherwise the axis goes from 0 to `top`. */
function trainingPlot({ title, colour, log = false, top = 1, guess = null, dash = "", say }) {
  const picture = shape("svg", { class: "te-tf-plot", height: PLOT.height, role: "img" });
  const still = shape("g"), moving = shape("g");
  picture.append(still, moving);
  let values = [], perPass = 1, scale = null;

  function setData(newValues, newPerPass) {
    values = newValues;
    perPass = newPerPass;
    layout();
  }
  function layout() {
    const width = Math.max(220, picture.parentElement?.clientWidth || 0);
    const inner = width - PLOT.left - PLOT.right, high = PLOT.height - PLOT.top - PLOT.bottom;
    const last = Math.max(1, values.length - 1);
    const finite = [...values].filter((v) => Number.isFinite(v) && v > 0);
    const low = Math.min(0.2, ...finite) / 1.2, most = Math.max(3, ...finite) * 1.1;
    scale = {
      x: (frame) => PLOT.left + (frame / last) * inner,
      y: log
        ? (v) => PLOT.top + high * (1 - Math.log(Math.max(v, low) / low) / Math.log(most / low))
        : (v) => PLOT.top + high * (1 - v / top),
    };
    const ticks = log
      ? [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100].filter((t) => t >= low && t <= most)
      : [0, 1, 2, 3, 4].map((q) => (q * top) / 4);
    const parts = [shape("text", { x: PLOT.left - 40, y: 16, class: "te-tf-title" }, title)];
    for (const t of ticks) {
      parts.push(shape("line", { x1: PLOT.left, x2: width - PLOT.right, y1: scale.y(t), y2: scale.y(t), class: "te-tf-grid" }));
      parts.push(shape("text", { x: PLOT.left - 7, y: scale.y(t) + 4, "text-anchor": "end", class: "te-tf-small" }, String(t)));
    }
    const passes = last / perPass, step = [1, 2, 5, 10, 20].find((s) => passes / s <= 10);
    for (let pass = 0; pass <= passes; pass += step) {
      parts.push(shape("text", { x: scale.x(pass * perPass), y: PLOT.height - PLOT.bottom + 17, "text-anchor": "middle", class: "te-tf-small" }, String(pass)));
    }
    parts.push(shape("text", { x: PLOT.left + inner / 2, y: PLOT.height - 5, "text-anchor": "middle", class: "te-tf-small" }, "passes over the training images"));
    parts.push(shape("path", { d: `M${PLOT.left},${PLOT.top}V${PLOT.top + high}H${width - PLOT.right}`, class: "te-tf-axis" }));
    if (guess) {
      parts.push(shape("line", { x1: PLOT.left, x2: width - PLOT.right, y1: scale.y(guess.at), y2: scale.y(guess.at), class: "te-tf-guess" }));
      parts.push(shape("text", { x: width - PLOT.right, y: scale.y(guess.at) - 5, "text-anchor": "end", class: "te-tf-small" }, guess.words));
    }
    picture.setAttribute("width", width);
    still.replaceChildren(...parts);
  }
  /** Draw the curve up to a fractional frame. */
  function draw(position) {
    const whole = Math.floor(position), part = position - whole;
    let path = "", pen = "M", end = null;
    const point = (frame, v) => {
      if (!Number.isFinite(v)) { pen = "M"; return; }
      end = [scale.x(frame), scale.y(v), v];
      path += `${pen}${end[0].toFixed(1)},${end[1].toFixed(1)}`;
      pen = "L";
    };
    for (let i = 0; i <= whole; i++) point(i, values[i]);
    if (part > 0) point(position, values[whole] + part * (values[whole + 1] - values[whole]));
    const parts = [shape("path", { d: path || "M0,0", fill: "none", class: `te-tf-line ${colour}`, "stroke-dasharray": dash })];
    if (end) parts.push(shape("circle", { cx: end[0], cy: end[1], r: 5, class: `te-tf-dot ${colour}` }));
    moving.replaceChildren(...parts);
    picture.setAttribute("aria-label", `${title}: ${end ? say(end[2]) : "none yet"}`);
  }
  return { element: make("div", { class: "te-tf-frame" }, picture), setData, layout, draw };
}
