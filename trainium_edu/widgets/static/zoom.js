// A zoom from a cluster to one multiply-accumulate.  Every level is drawn in the same 1600 × 1000
// units and holds a frame of the same shape in which the next level is drawn: so the camera can
// travel without a seam.  All figures and texts come from Python; joined behind playback.js.

const WIDE = 1600, HIGH = 1000;
const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
const fade = (v, from, to) => clamp((v - from) / (to - from), 0, 1);

// ---- where things stand, per level: [x, y, w, h]; `inside` is the frame of the next level
const DOT = (i, j) => [50 + 12 * i + 1.2, 250 + 12 * j + 3, 9.6, 6];
const CHIP = (i, j) => [255 + 300 * i, 118 + 210 * j, 190, 118.75];
const PE = (i, j) => [320 + 7.5 * i, 200 + 4.6875 * j, 7.5, 4.6875];
const PLACES = {
  ultracluster: { inside: DOT(62, 25), network: [50, 110, 1500, 70], instances: [40, 240, 1520, 620] },
  instance: { inside: CHIP(1, 1), chips: [235, 98, 1130, 790], links: [130, 30, 1340, 940], network: [1490, 300, 80, 400] },
  chip: {
    inside: [392, 160, 384, 240], cores: [380, 148, 840, 264], hbm: [110, 130, 190, 740], dma: [392, 470, 816, 150],
    cc: [392, 690, 816, 110], links: [60, 40, 1480, 920], hbm2: [1300, 130, 190, 740],
  },
  neuroncore: {
    inside: [120, 130, 512, 320], tensor: [120, 130, 512, 320], psum: [760, 130, 200, 320], vector: [1100, 130, 380, 92],
    scalar: [1100, 244, 380, 92], gpsimd: [1100, 358, 380, 92], sbuf: [120, 560, 1360, 170], dma: [120, 830, 1360, 80],
  },
  tensor_engine: { inside: PE(64, 64), array: [320, 200, 960, 600], rows: [90, 200, 210, 600], columns: [320, 80, 960, 100], sums: [320, 820, 960, 110] },
  element: { inside: null, weight: [330, 230, 300, 130], times: [560, 480, 130, 130], plus: [930, 480, 130, 130] },
};

function painter(ctx, colours) {
  let k = 1, ox = 0, oy = 0, alpha = 1;
  const visible = (x, y, w, h) => ox + (x + w) * k > 0 && oy + (y + h) * k > 0 && ox + x * k < ctx.canvas.cssWide && oy + y * k < ctx.canvas.cssHigh;
  return {
    at(rect) { k = rect[2] / WIDE; ox = rect[0]; oy = rect[1]; },
    get scale() { return k; },
    get alpha() { return alpha; },
    set alpha(a) { alpha = a; },
    toScreen: ([x, y, w, h]) => [ox + x * k, oy + y * k, w * k, h * k],
    box([x, y, w, h], { fill, line, radius = 0, width = 2, a = 1, dash = [] } = {}) {
      if (!visible(x, y, w, h) || a * alpha <= 0) return;
      ctx.globalAlpha = a * alpha;
      ctx.beginPath();
      ctx.roundRect(ox + x * k, oy + y * k, w * k, h * k, radius * k);
      if (fill) { ctx.fillStyle = fill; ctx.fill(); }
      if (line) { ctx.setLineDash(dash); ctx.strokeStyle = line; ctx.lineWidth = clamp(width * k, 0.5, 6); ctx.stroke(); ctx.setLineDash([]); }
    },
    dots(place, nx, ny, shade, a = 1) { // a grid of small boxes, the visible ones only
      const [x0, y0] = place(0, 0), [x1] = place(1, 0), [, y1] = place(0, 1);
      const dx = x1 - x0, dy = y1 - y0;
      const from = (edge, o, step) => Math.floor((edge - o) / k / step);
      const i0 = clamp(from(-ox - x0 * k, 0, dx) - 1, 0, nx), i1 = clamp(from(ctx.canvas.cssWide - ox - x0 * k, 0, dx) + 2, 0, nx);
      const j0 = clamp(from(-oy - y0 * k, 0, dy) - 1, 0, ny), j1 = clamp(from(ctx.canvas.cssHigh - oy - y0 * k, 0, dy) + 2, 0, ny);
      for (let j = j0; j < j1; j++) for (let i = i0; i < i1; i++) {
        const s = shade(i, j);
        if (!s) continue;
        const [x, y, w, h] = place(i, j);
        ctx.globalAlpha = s * a * alpha;
        ctx.fillRect(ox + x * k, oy + y * k, w * k, h * k);
      }
    },
    line(points, { colour, width = 3, a = 1, dash = [], arrow = false } = {}) {
      ctx.globalAlpha = a * alpha;
      ctx.strokeStyle = colour; ctx.fillStyle = colour;
      ctx.lineWidth = clamp(width * k, 0.6, 8);
      ctx.setLineDash(dash.map((d) => d * k));
      ctx.beginPath();
      points.forEach(([x, y, cx, cy], n) => {
        if (!n) ctx.moveTo(ox + x * k, oy + y * k);
        else if (cx === undefined) ctx.lineTo(ox + x * k, oy + y * k);
        else ctx.quadraticCurveTo(ox + cx * k, oy + cy * k, ox + x * k, oy + y * k);
      });
      ctx.stroke();
      ctx.setLineDash([]);
      if (arrow) for (const [end, before] of arrow === "both" ? [[points.at(-1), points.at(-2)], [points[0], points[1]]] : [[points.at(-1), points.at(-2)]]) {
        const angle = Math.atan2(end[1] - before[1], end[0] - before[0]), s = 14 * k;
        ctx.beginPath();
        ctx.moveTo(ox + end[0] * k, oy + end[1] * k);
        for (const turn of [2.6, -2.6]) ctx.lineTo(ox + end[0] * k + s * Math.cos(angle + turn), oy + end[1] * k + s * Math.sin(angle + turn));
        ctx.closePath(); ctx.fill();
      }
    },
    text(label, x, y, { size = 30, bold = false, colour = colours.ink, align = "center", a = 1, upright = true } = {}) {
      const px = size * k;
      const seen = a * alpha * fade(px, 6.5, 9.5) * (1 - fade(px, 46, 80));
      if (seen <= 0) return;
      ctx.globalAlpha = seen;
      ctx.fillStyle = colour; ctx.textAlign = align; ctx.textBaseline = "middle";
      ctx.font = `${bold ? 700 : 400} ${px}px ${colours.font}`;
      ctx.save();
      ctx.translate(ox + x * k, oy + y * k);
      if (!upright) ctx.rotate(-Math.PI / 2);
      ctx.fillText(label, 0, 0);
      ctx.restore();
    },
  };
}

const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];

// ---- one drawing per level
const DRAW = {
  ultracluster(p, ctx, c) {
    p.box(PLACES.ultracluster.network, { fill: c.dma, a: 0.22, radius: 16 });
    p.box(PLACES.ultracluster.network, { line: c.dma, radius: 16, width: 3 });
    p.text("network (EFA): non-blocking, petabit-scale", 800, 145, { size: 34, bold: true });
    for (let i = 0; i < 25; i++) p.line([[80 + 60 * i, 182], [80 + 60 * i, 246]], { colour: c.dma, a: 0.6, width: 2.5 });
    ctx.fillStyle = c.chip;
    p.dots(DOT, 125, 50, (i, j) => 0.5 + 0.4 * (((i * 7 + j * 13) % 10) / 10));
    p.text("6 250 dots: each is an instance of 16 chips", 800, 912, { size: 32 });
  },
  instance(p, ctx, c) {
    const wire = { colour: c.link, width: 6, a: 0.9 };
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
      const [x, y] = middle(CHIP(i, j));
      if (i < 3) p.line([[x, y], [x + 300, y]], wire);
      if (j < 3) p.line([[x, y], [x, y + 210]], wire);
    }
    const around = { ...wire, width: 3, a: 0.55, dash: [10, 9] };
    for (let n = 0; n < 4; n++) { // the edges wrap around, behind the chips
      const y = middle(CHIP(0, n))[1], x = middle(CHIP(n, 0))[0], below = y + 105, beside = x + 150;
      p.line([[255, y], [160, y + 52, 160, y], [205, below, 160, below]], wire);
      p.line([[205, below], [1400, below]], around);
      p.line([[1345, y], [1445, y + 52, 1445, y], [1400, below, 1445, below]], wire);
      p.line([[x, 118], [x + 75, 38, x, 38], [beside, 80, beside, 38]], wire);
      p.line([[beside, 80], [beside, 905]], around);
      p.line([[x, 867], [x + 75, 938, x, 938], [beside, 905, beside, 938]], wire);
    }
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
      p.box(CHIP(i, j), { fill: c.paper, radius: 14 });
      p.box(CHIP(i, j), { fill: c.chip, a: 0.2, radius: 14 });
      p.box(CHIP(i, j), { line: c.chip, radius: 14, width: 4 });
      if (i !== 1 || j !== 1) p.text(`chip ${4 * j + i}`, ...middle(CHIP(i, j)), { size: 32 });
    }
    p.box(PLACES.instance.network, { fill: c.dma, a: 0.25, radius: 12 });
    p.box(PLACES.instance.network, { line: c.dma, radius: 12, width: 3 });
    p.text("network (EFA)", 1530, 500, { size: 30, upright: false });
    p.text("dashed: links from one edge around to the other", 800, 972, { size: 28, colour: c.muted });
  },
  chip(p, ctx, c) {
    p.box([60, 40, 1480, 920], { line: c.chip, radius: 30, width: 5 });
    for (const [x, y, w, h] of [[740, 14, 120, 52], [740, 934, 120, 52], [34, 440, 52, 120], [1514, 440, 52, 120]])
      p.box([x, y, w, h], { fill: c.link, radius: 8 });
    p.text("NeuronLink", 800, 92, { size: 28, colour: c.muted });
    for (const place of [PLACES.chip.hbm, PLACES.chip.hbm2]) {
      p.box(place, { fill: c.hbm, a: 0.25, radius: 12 });
      p.box(place, { line: c.hbm, radius: 12, width: 4 });
      for (let n = 1; n < 8; n++) p.line([[place[0], place[1] + 92 * n], [place[0] + 190, place[1] + 92 * n]], { colour: c.hbm, a: 0.5, width: 2 });
      p.text("HBM", place[0] + 95, 500, { size: 40, bold: true });
    }
    for (const x of [392, 824]) {
      p.box([x, 160, 384, 240], { fill: c.tensor, a: 0.15, radius: 14 });
      p.box([x, 160, 384, 240], { line: c.tensor, radius: 14, width: 4 });
    }
    p.text("NeuronCore 1", 1016, 280, { size: 34, bold: true });
    p.text("NeuronCore 0", 584, 432, { size: 26, colour: c.muted });
    const row = (place, count, colour, label) => {
      const lines = count > 16 ? 2 : 1, per = count / lines, step = place[2] / per;
      for (let n = 0; n < count; n++)
        p.box([place[0] + (n % per) * step + 4, place[1] + Math.floor(n / per) * (place[3] / lines) + 4, step - 8, place[3] / lines - 8], { fill: colour, a: 0.75, radius: 6 });
      p.text(label, place[0] + place[2] / 2, place[1] + place[3] + 26, { size: 28 });
    };
    row(PLACES.chip.dma, 32, c.dma, "32 data movers (DMA engines)");
    row(PLACES.chip.cc, 6, c.vector, "6 cores for collectives (CC-Cores)");
    p.line([[300, 300], [388, 300]], { colour: c.hbm, width: 6, arrow: "both" });
    p.line([[1300, 300], [1212, 300]], { colour: c.hbm, width: 6, arrow: "both" });
  },
  neuroncore(p, ctx, c) {
    const P = PLACES.neuroncore;
    const block = (place, colour, label, small) => {
      p.box(place, { fill: colour, a: 0.2, radius: 14 });
      p.box(place, { line: colour, radius: 14, width: 4 });
      const [x, y] = middle(place);
      p.text(label, x, small ? y - 18 : y, { size: 36, bold: true });
      if (small) p.text(small, x, y + 24, { size: 27, colour: c.muted });
    };
    p.line([[300, 556], [300, 456]], { colour: c.muted, width: 6, arrow: true });
    p.line([[636, 290], [756, 290]], { colour: c.tensor, width: 8, arrow: true });
    for (const [y, colour] of [[176, c.vector], [290, c.scalar]]) p.line([[964, y], [1096, y]], { colour, width: 5, arrow: "both" });
    const riser = (x, y, colour) => p.line([[1480, y], [x, y], [x, 556]], { colour, width: 5, arrow: true });
    riser(1510, 404, c.gpsimd); riser(1535, 290, c.scalar); riser(1560, 176, c.vector);
    for (const [x, colour] of [[1510, c.gpsimd], [1535, c.scalar], [1560, c.vector]]) p.line([[x, 540], [x, 600], [1484, 600]], { colour, width: 5, arrow: true });
    block(P.psum, c.psum, "PSUM", "sums land");
    block(P.vector, c.vector, "Vector Engine", "sums, pairs");
    block(P.scalar, c.scalar, "Scalar Engine", "functions");
    block(P.gpsimd, c.gpsimd, "GpSimd Engine", "all the rest");
    p.box(P.tensor, { fill: c.tensor, a: 0.12, radius: 14 });
    p.box(P.tensor, { line: c.tensor, radius: 14, width: 5 });
    p.text("Tensor Engine: matmul", 376, 94, { size: 36, bold: true });
    block(P.sbuf, c.hbm, "SBUF", "128 partitions × 192 KiB, filled and emptied by software");
    for (let n = 1; n < 16; n++) p.line([[120 + 85 * n, 568], [120 + 85 * n, 590]], { colour: c.hbm, width: 2, a: 0.6 });
    block(P.dma, c.dma, "DMA: 16 queues to and from HBM");
    p.line([[500, 734], [500, 826]], { colour: c.dma, width: 6, arrow: "both" });
    p.line([[1100, 734], [1100, 826]], { colour: c.dma, width: 6, arrow: "both" });
  },
  tensor_engine(p, ctx, c) {
    p.box([320, 200, 960, 600], { fill: c.paper });
    ctx.fillStyle = c.tensor;
    if (p.scale * 7.5 > 1.3) {
      const gap = clamp(p.scale * 7.5 - 1.3, 0, 1);
      p.dots((i, j) => { const [x, y, w, h] = PE(i, j); return [x + 0.7 * gap, y + 0.5 * gap, w - 1.4 * gap, h - gap]; },
        128, 128, (i, j) => 0.25 + 0.7 * Math.max(0, 1 - ((i + j) % 64) / 24)); // the skewed front of a matmul
    } else p.box([320, 200, 960, 600], { fill: c.tensor, a: 0.45 });
    p.box([320, 200, 960, 600], { line: c.tensor, width: 3 });
    for (let n = 0; n < 9; n++) {
      p.line([[215, 222 + 69 * n], [308, 222 + 69 * n]], { colour: c.vector, width: 5, arrow: true });
      p.line([[360 + 110 * n, 812], [360 + 110 * n, 868]], { colour: c.scalar, width: 5, arrow: true });
      p.line([[360 + 110 * n, 130], [360 + 110 * n, 190]], { colour: c.muted, width: 4, a: 0.7, arrow: true });
    }
    p.text("moving, from SBUF", 150, 500, { size: 32, upright: false });
    p.text("stationary: weights, loaded once and kept", 800, 90, { size: 32 });
    p.text("sums, to PSUM", 800, 905, { size: 32 });
    p.text("128 × 128 processing elements", 800, 962, { size: 30, bold: true });
  },
  element(p, ctx, c, beat) {
    const now = beat.now, moved = beat.progress;
    p.box([200, 110, 1200, 780], { fill: c.tensor, a: 0.1, radius: 50 });
    p.box([200, 110, 1200, 780], { line: c.tensor, radius: 50, width: 6 });
    const value = (label, text, x, y, colour, beside = false) => {
      p.box([x - 110, y - 42, 220, 84], { fill: c.paper, radius: 16 });
      p.box([x - 110, y - 42, 220, 84], { line: colour, radius: 16, width: 4 });
      p.text(text, x, y, { size: 44, bold: true });
      if (beside) p.text(label, x + 130, y, { size: 30, colour: c.muted, align: "left" });
      else p.text(label, x, y - 68, { size: 30, colour: c.muted });
    };
    p.line([[40, 545], [552, 545]], { colour: c.vector, width: 7, arrow: true });
    p.line([[690, 545], [922, 545]], { colour: c.tensor, width: 7, arrow: true });
    p.line([[480, 318], [602, 478]], { colour: c.tensor, width: 7, arrow: true });
    p.line([[995, 40], [995, 472]], { colour: c.scalar, width: 7, arrow: true });
    p.line([[995, 612], [995, 965]], { colour: c.scalar, width: 7, arrow: true });
    p.line([[300, 590], [300, 842], [1560, 842]], { colour: c.vector, width: 5, a: 0.6, dash: [14, 10], arrow: true });
    for (const [place, sign] of [[PLACES.element.times, "×"], [PLACES.element.plus, "+"]]) {
      p.box(place, { fill: c.paper, radius: 65 });
      p.box(place, { line: c.ink, radius: 65, width: 5 });
      p.text(sign, ...middle(place), { size: 84, bold: true });
    }
    value("weight, stays", now.weight, 430, 280, c.tensor);
    value("input", now.input, 330, 545, c.vector);
    value("sum from above", now.sum_in, 995, 250, c.scalar, true);
    const first = fade(moved, 0.15, 0.45), second = fade(moved, 0.5, 0.8);
    const before = p.alpha;
    p.alpha = before * first;
    value("product", now.product, 806, 545, c.tensor);
    p.alpha = before * second;
    value("sum, one down", now.sum_out, 995, 760, c.scalar, true);
    p.alpha = before;
    p.text("input, passed on", 560, 808, { size: 28, colour: c.muted });
    p.text(`beat ${now.number} of ${now.of}`, 1210, 165, { size: 32, bold: true });
  },
};

function render({ model, el }) {
  const rungs = model.get("rungs"), beats = model.get("beats"), last = rungs.length - 1;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  let z = model.get("level"), goal = z, request = 0, flying = false, beat = 0, beatStart = -1e9, chosen = -1, hovered = null;

  // ---- the page
  const canvas = make("canvas", { ...focusable("Zoom picture: up and down arrows or plus and minus change the level"), tabindex: 0, role: "img", class: "te-zoom-picture" });
  canvas.removeAttribute("title");
  const ctx = canvas.getContext("2d");
  const button = (name, text, action, css = "te-button") => make("button", { ...focusable(name), type: "button", class: css, on: { click: action } }, text);
  const steps = rungs.map((rung, n) => make("li", {}, button(`Level ${n + 1} of ${last + 1}: ${rung.name}`, "", () => go(n), "te-zoom-rung")));
  steps.forEach((li, n) => {
    li.firstChild.append(make("b", {}, rungs[n].name), n < last ? make("small", {}, rungs[n].holds) : make("small", {}, "one beat"));
  });
  const ladder = make("ol", { class: "te-zoom-ladder", "aria-label": "Levels, from the outside in" }, ...steps);
  const fly = button("Fly through all levels", `${GLYPHS.play} fly through`, () => (flying ? halt() : takeOff()));
  const out = button("One level out", "− out", () => go(Math.ceil(z - 1e-6) - 1));
  const into = button("One level in", "+ in", () => go(Math.floor(z + 1e-6) + 1));
  const slider = make("input", { ...focusable("Zoom"), type: "range", min: 0, max: last, step: 0.01, class: "te-scrub", on: { input: () => (halt(), place(Number(slider.value)), settle()) } });
  const next = button("One beat of the processing element", "one beat", () => pulse());
  const bar = make("div", { class: "te-zoom-bar", role: "group", "aria-label": "Zoom controls" }, fly, out, slider, into, next);
  const title = make("h4", { class: "te-zoom-title" });
  const sentence = make("p", { class: "te-zoom-sentence" });
  const figures = make("ul", { class: "te-zoom-figures", "aria-label": "Figures of this level" });
  const source = make("p", { class: "te-zoom-source", "aria-live": "polite" });
  const head = make("div", { class: "te-zoom-head", "aria-live": "polite" }, title, sentence);
  const root = make("div", { class: "te-zoom", on: { keydown: onKey } },
    ladder, make("div", { class: "te-zoom-stage" }, canvas, bar), make("div", { class: "te-zoom-side" }, head, figures), source);
  el.append(root);

  function showRung(n) {
    const rung = rungs[n];
    title.textContent = rung.name;
    sentence.textContent = rung.sentence;
    chosen = -1;
    figures.replaceChildren(...rung.figures.map((f, i) => {
      const item = make("button", { ...focusable(`${f.label}: ${f.value}. ${f.source}`), type: "button", class: "te-zoom-figure",
        on: { pointerenter: () => choose(i), focus: () => choose(i), click: () => choose(i) } },
        make("span", { class: "te-zoom-label" }, f.label), make("b", {}, f.value), make("i", { class: `te-zoom-kind te-${f.kind}` }, f.kind));
      return make("li", {}, item);
    }));
    source.replaceChildren(make("span", { class: "te-zoom-hint" }, "Point at a figure, or at a part of the picture, to see who says so."));
    steps.forEach((li, k) => li.firstChild.toggleAttribute("aria-current", k === n));
    next.hidden = n !== last;
    canvas.setAttribute("aria-label", `${rung.name}: ${rung.sentence} ${rung.figures.map((f) => `${f.label} ${f.value}`).join(", ")}. Arrow keys change the level.`);
  }
  function choose(i) {
    if (i === chosen) return;
    chosen = i;
    const f = rungs[shown].figures[i];
    [...figures.children].forEach((li, k) => li.firstChild.classList.toggle("te-chosen", k === i));
    source.replaceChildren(make("b", {}, `${f.label}: ${f.value}`), ` — ${f.source} `);
    if (f.note) source.append(make("span", { class: "te-zoom-note" }, `Note: ${f.note}. `));
    if (f.url) source.append(make("a", { ...focusable(`Open the source of ${f.label}`), href: f.url, target: "_blank", rel: "noopener" }, "open the source"));
    draw();
  }
  // ---- camera: at z = n + f level n is enlarged about the point that its frame shares with it
  function rectOf(n, f) {
    const W = canvas.cssWide, [px, py, pw] = PLACES[rungs[n].key].inside ?? [0, 0, WIDE];
    const s = Math.pow(WIDE / pw, f), k = W / WIDE, shrink = 1 - pw / WIDE || 1;
    const cx = (px / shrink) * k, cy = (py / shrink) * k;
    return [cx - cx * s, cy - cy * s, W * s, (W * s * HIGH) / WIDE];
  }
  let shown = -1;
  const colours = () => {
    const css = getComputedStyle(root), of = (name, other) => css.getPropertyValue(name).trim() || other;
    return { ...model.get("colours"), ink: of("--jp-ui-font-color1", "#222"), muted: of("--jp-ui-font-color2", "#666"), paper: of("--jp-layout-color0", "#fff"), font: of("--jp-ui-font-family", "sans-serif") };
  };
  function draw() {
    if (!canvas.cssWide) return;
    const c = colours(), p = painter(ctx, c);
    ctx.setTransform(canvas.density, 0, 0, canvas.density, 0, 0);
    ctx.globalAlpha = 1;
    ctx.clearRect(0, 0, canvas.cssWide, canvas.cssHigh);
    const now = performance.now();
    const progress = still.matches ? 1 : clamp((now - beatStart) / 1400, 0, 1);
    const state = { now: beats[beat], progress: beatStart < 0 ? 1 : progress };
    let n = Math.min(last, Math.floor(z + 1e-9));
    let rect = rectOf(n, z - n);
    for (let depth = 0; n <= last && depth < 3 && rect[2] > 10; depth++, n++) {
      p.at(rect);
      p.alpha = depth ? fade(rect[2], 16, 90) : 1;
      if (depth) p.box([0, 0, WIDE, HIGH], { fill: c.paper, line: c.muted, radius: 40 });
      DRAW[rungs[n].key](p, ctx, c, state);
      const inside = PLACES[rungs[n].key].inside;
      if (!inside) break;
      const frame = p.toScreen(inside);
      if (depth === 0 && z - n < 0.6) {
        ctx.globalAlpha = 1 - fade(z - n, 0.2, 0.6);
        ctx.strokeStyle = c.ink; ctx.lineWidth = 2.5;
        ctx.beginPath();
        const grow = Math.max(4, 10 - frame[2] / 2);
        ctx.roundRect(frame[0] - grow, frame[1] - grow, frame[2] + 2 * grow, frame[3] + 2 * grow, 7);
        ctx.stroke();
      }
      rect = frame;
    }
    if (Math.abs(z - shown) < 0.01 && shown >= 0) highlight(p);
    ctx.globalAlpha = 1;
    if (progress < 1 && beatStart >= 0 && !request) requestAnimationFrame(draw);
    root.dataset.z = z.toFixed(3);
    root.dataset.drawn = String(Number(root.dataset.drawn || 0) + 1);
  }
  function highlight(p) {
    const rung = rungs[shown], part = chosen >= 0 ? rung.figures[chosen].part : "";
    if (!part || !PLACES[rung.key][part]) return;
    p.at(rectOf(shown, 0));
    const [x, y, w, h] = p.toScreen(PLACES[rung.key][part]);
    ctx.globalAlpha = 1; ctx.strokeStyle = model.get("colours").mark; ctx.lineWidth = 3; ctx.setLineDash([7, 4]);
    ctx.beginPath(); ctx.roundRect(x - 5, y - 5, w + 10, h + 10, 9); ctx.stroke(); ctx.setLineDash([]);
  }
  function place(to) {
    z = clamp(to, 0, last);
    const n = Math.round(z);
    if (n !== shown) { shown = n; showRung(n); }
    slider.value = String(z);
    slider.setAttribute("aria-valuetext", rungs[n].name);
    out.disabled = z <= 0; into.disabled = z >= last;
    draw();
  }
  function settle() {
    goal = Math.round(z);
    if (model.get("level") !== goal) { model.set("level", goal); model.save_changes(); }
  }
  let from = 0, began = 0, lasts = 0;
  function go(to, seconds = 0) {
    to = clamp(to, 0, last);
    if (!seconds) halt();
    goal = to; from = z; began = performance.now();
    lasts = still.matches ? 0 : 1000 * (seconds || 0.5 + 0.75 * Math.abs(to - z));
    cancelAnimationFrame(request);
    request = requestAnimationFrame(tick);
  }
  function tick(now) {
    request = 0;
    if (!root.isConnected) return halt();
    const t = lasts ? clamp((now - began) / lasts, 0, 1) : 1;
    place(from + (goal - from) * (flying ? t : t * t * (3 - 2 * t)));
    if (t < 1) request = requestAnimationFrame(tick);
    else { halt(); place(goal); settle(); if (goal === last) pulse(); }
  }
  function takeOff() {
    const back = z > last - 0.01;
    if (back) place(0);
    flying = true; fly.textContent = `${GLYPHS.pause} pause`; fly.setAttribute("aria-label", "Pause the flight");
    go(last, (last - z) * 2.2);
  }
  function halt() {
    flying = false; fly.textContent = `${GLYPHS.play} fly through`; fly.setAttribute("aria-label", "Fly through all levels");
    cancelAnimationFrame(request); request = 0;
  }
  function pulse() {
    if (beatStart >= 0) beat = (beat + 1) % beats.length;
    beatStart = performance.now();
    next.setAttribute("aria-label", `One more beat; now ${beats[beat].text}`);
    draw();
  }
  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const slide = (by) => { halt(); place(Math.round(10 * (z + by)) / 10); settle(); };
    const actions = event.target === slider ? { // a tenth of a level with the arrows, one with Page
      ArrowRight: () => slide(0.1), ArrowUp: () => slide(0.1), ArrowLeft: () => slide(-0.1), ArrowDown: () => slide(-0.1),
      PageUp: () => go(Math.floor(z + 1e-6) + 1), PageDown: () => go(Math.ceil(z - 1e-6) - 1),
      "+": () => go(Math.floor(z + 1e-6) + 1), "-": () => go(Math.ceil(z - 1e-6) - 1),
      Home: () => go(0), End: () => go(last),
    } : {
      ArrowUp: () => go(Math.ceil(z - 1e-6) - 1), ArrowDown: () => go(Math.floor(z + 1e-6) + 1),
      "-": () => go(Math.ceil(z - 1e-6) - 1), "+": () => go(Math.floor(z + 1e-6) + 1), "=": () => go(Math.floor(z + 1e-6) + 1),
      Home: () => go(0), End: () => go(last),
    };
    if (!actions[event.key]) return;
    event.preventDefault(); event.stopPropagation();
    actions[event.key]();
  }
  const inside = ([x, y, w, h], px, py) => px >= x && px <= x + w && py >= y && py <= y + h;
  function under(event) { // which part of the level the pointer is on, in the level's units
    const box = canvas.getBoundingClientRect(), k = canvas.cssWide / WIDE;
    const px = (event.clientX - box.left) / k, py = (event.clientY - box.top) / k, places = PLACES[rungs[shown].key];
    const frame = places.inside, grown = frame && [frame[0] - 12, frame[1] - 12, frame[2] + 24, frame[3] + 24];
    if (grown && inside(grown, px, py)) return "inside";
    const hit = Object.entries(places).filter(([name, r]) => r && name !== "inside" && inside(r, px, py)).sort((a, b) => a[1][2] * a[1][3] - b[1][2] * b[1][3]);
    return hit.length ? hit[0][0].replace("hbm2", "hbm") : "";
  }
  canvas.addEventListener("pointermove", (event) => {
    if (Math.abs(z - shown) > 0.01) return;
    hovered = under(event);
    canvas.style.cursor = hovered === "inside" ? "zoom-in" : "default";
    const i = rungs[shown].figures.findIndex((f) => f.part && f.part === hovered);
    if (i >= 0) choose(i);
  });
  canvas.addEventListener("click", (event) => {
    if (under(event) === "inside") go(shown + 1);
    else if (shown === last) pulse();
  });
  // ---- size and theme
  function resize() {
    const wide = canvas.clientWidth;
    if (!wide) return;
    const density = Math.min(3, window.devicePixelRatio || 1);
    canvas.cssWide = wide; canvas.cssHigh = (wide * HIGH) / WIDE; canvas.density = density;
    canvas.width = Math.round(wide * density); canvas.height = Math.round(canvas.cssHigh * density);
    draw();
  }
  const sizes = new ResizeObserver(() => {
    root.classList.toggle("te-narrow", el.clientWidth < 820);
    resize();
  });
  sizes.observe(el); sizes.observe(canvas);
  const theme = new MutationObserver(() => requestAnimationFrame(draw));
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const fromPython = () => { if (model.get("level") !== goal) go(model.get("level")); };
  model.on("change:level", fromPython);
  place(z);
  return () => { halt(); sizes.disconnect(); theme.disconnect(); model.off("change:level", fromPython); };
}
export default { render };
