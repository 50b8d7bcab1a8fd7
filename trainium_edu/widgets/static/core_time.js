// What all pictures of a NeuronCore's time share: unpacked data, the window of time that is shown,
// colours of the page, words for numbers.  Joined behind playback.js; not exported.

const CORE_TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array };
const GUTTER = 122; // pixels left of time 0, the same in every panel
const RIGHT = 14;

/** Unpack what Python packed: a header in JSON, plain arrays behind it. */
function unpack(view) {
  const bytes = new Uint8Array(view.byteLength); // a copy starts at a multiple of eight
  bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  for (const [name, [type, offset, count]] of Object.entries(data.arrays))
    data[name] = new CORE_TYPES[type](bytes.buffer, 8 + size + offset, count);
  return data;
}

/** Write a time as people read it, with a unit. */
function nsText(ns, digits = 3) {
  const size = Math.abs(ns);
  const [scale, unit] = size >= 999_500 ? [1e6, "ms"] : size >= 999.5 ? [1e3, "µs"] : [1, "ns"];
  const value = ns / scale;
  return `${Number(value.toPrecision(Math.max(digits, Math.abs(value) >= 100 ? 3 : 1)))} ${unit}`;
}
/** Write a moment: enough digits for the window that is shown. */
function momentText(ns, span) {
  const [scale, unit] = ns >= 2e6 || span >= 2e6 ? [1e6, "ms"] : ns >= 999.5 || span >= 2e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(span / scale / 300))));
  return `${(ns / scale).toFixed(digits)} ${unit}`;
}
function bytesText(bytes) {
  if (bytes < 0) return "−" + bytesText(-bytes);
  for (const [scale, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (bytes >= scale) return `${Number((bytes / scale).toPrecision(4))} ${unit}`;
  return `${bytes} B`;
}
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

/** Round steps for an axis: 1, 2 or 5 times a power of ten. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((m) => m * power >= least * 0.999);
}

/** First index whose value is above `x` in an ascending array. */
function upper(values, x, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The colours of the page, read again when its theme changes. */
function readTones(root) {
  const style = getComputedStyle(root);
  const tone = (name, other) => style.getPropertyValue(name).trim() || other;
  return {
    paper: tone("--jp-layout-color0", "#ffffff"), ink: tone("--jp-ui-font-color1", "#222222"),
    muted: tone("--jp-ui-font-color2", "#616161"), line: tone("--jp-border-color2", "#dddddd"),
    strong: tone("--jp-border-color1", "#bbbbbb"), soft: tone("--jp-layout-color2", "#eeeeee"),
    lane: tone("--jp-layout-color1", "#fafafa"), mark: "#D55E00",
    font: tone("--jp-ui-font-family", "sans-serif"), code: tone("--jp-code-font-family", "monospace"),
    dark: document.body.dataset.jpThemeLight === "false",
  };
}

/** Black or white, whichever reads better on a colour. */
const letters = new Map();
function letterOn(colour) {
  if (!letters.has(colour)) {
    const linear = (i) => {
      const c = parseInt(colour.slice(i, i + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    letters.set(colour, 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5) > 0.18 ? "#000" : "#fff");
  }
  return letters.get(colour);
}

/** Give a canvas the pixels of its place on the screen. */
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

/** The window of time that every panel shows, and where it lies in pixels. */
function createWindow(changed) {
  const w = {
    lo: 0, hi: 1, end: 1, width: 600,
    get span() { return w.hi - w.lo; },
    get scale() { return w.width / w.span; },
    x: (t) => GUTTER + (t - w.lo) * (w.width / (w.hi - w.lo)),
    t: (x) => w.lo + (x - GUTTER) * ((w.hi - w.lo) / w.width),
    get isWhole() { return w.lo <= 0 && w.hi >= w.end; },
    /** Show [lo, hi], kept inside the run and not below a tenth of a nanosecond. */
    show(lo, hi) {
      let span = Math.min(w.end, Math.max(0.1, hi - lo));
      lo = Math.max(0, Math.min(w.end - span, lo + (hi - lo - span) / 2));
      w.lo = lo;
      w.hi = lo + span;
      changed();
    },
    zoom(factor, at = (w.lo + w.hi) / 2) {
      const span = Math.min(w.end, Math.max(0.1, w.span / factor));
      const share = (at - w.lo) / w.span;
      w.show(at - share * span, at - share * span + span);
    },
    pan: (ns) => w.show(w.lo + ns, w.hi + ns),
    whole: () => w.show(0, w.end),
  };
  return w;
}

/** Draw bars on one line of a canvas: `next(i)` walks the visible spans; those under two pixels merge. */
function createMerger() {
  let cover = new Float32Array(0);
  let lowest = 1, highest = 0;
  return {
    begin(width) {
      if (cover.length < width + 2) cover = new Float32Array(width + 2);
      lowest = width;
      highest = -1;
    },
    add(x0, x1) { // pixels from the left edge of the plot
      const last = cover.length - 1;
      x0 = Math.max(0, x0);
      x1 = Math.min(last, x1);
      if (x1 <= x0) return;
      let a = Math.floor(x0);
      const b = Math.floor(x1);
      if (a < lowest) lowest = a;
      if (b > highest) highest = b;
      if (a === b) cover[a] += x1 - x0;
      else {
        cover[a] += a + 1 - x0;
        for (a++; a < b; a++) cover[a] += 1;
        cover[b] += x1 - b;
      }
    },
    /** Paint what was gathered: the more of a pixel is busy, the stronger its colour. */
    paint(c, left, y, height, colour, alpha = 1) {
      if (highest < lowest) return;
      c.fillStyle = colour;
      let from = lowest, shade = -1;
      for (let p = lowest; p <= highest + 1; p++) {
        const now = p > highest ? -1 : cover[p] <= 0 ? 0 : Math.min(8, Math.ceil(cover[p] * 8));
        if (p <= highest) cover[p] = 0;
        if (now === shade) continue;
        if (shade > 0) {
          c.globalAlpha = alpha * (0.25 + 0.75 * shade / 8);
          c.fillRect(left + from, y, p - from, height);
        }
        from = p;
        shade = now;
      }
      c.globalAlpha = 1;
    },
  };
}

/** The hatching that means "no work: fixed cost or waiting", on any colour. */
const hatches = new Map();
function hatch(c, colour, paper) {
  const key = colour + paper;
  if (!hatches.has(key)) {
    const tile = new OffscreenCanvas(6, 6);
    const h = tile.getContext("2d");
    h.fillStyle = colour;
    h.globalAlpha = 0.35;
    h.fillRect(0, 0, 6, 6);
    h.globalAlpha = 1;
    h.strokeStyle = colour;
    h.lineWidth = 1.6;
    h.beginPath();
    for (const k of [-6, 0, 6]) {
      h.moveTo(k - 1, 7);
      h.lineTo(k + 7, -1);
    }
    h.stroke();
    hatches.set(key, c.createPattern(tile, "repeat"));
  }
  return hatches.get(key);
}

/** Draw the axis of time with its grid. */
function drawTimeAxis(c, view, tones, y, gridBottom) {
  const step = roundStep((view.span / view.width) * 90);
  c.font = `11px ${tones.font}`;
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  c.lineWidth = 1;
  const [scale, unit] = view.hi >= 1e6 ? [1e6, "ms"] : view.hi >= 2e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
  const tick = (ns) => `${(ns / scale).toFixed(digits)} ${unit}`;
  for (let k = Math.ceil(view.lo / step - 1e-9); k * step <= view.hi * (1 + 1e-12); k++) {
    const x = Math.round(view.x(k * step)) + 0.5;
    c.strokeStyle = tones.line;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x, gridBottom);
    c.stroke();
    c.fillStyle = tones.muted;
    const text = k === 0 ? "0" : tick(k * step);
    c.textAlign = x > GUTTER + view.width - 24 ? "right" : "center";
    c.fillText(text, Math.min(x, GUTTER + view.width + RIGHT - 2), y - 4);
  }
}
