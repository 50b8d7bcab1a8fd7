// The topology explorer: a machine to turn; point at a chip for the way there, click a cable to cut it.
//
// Chips, cables and every way between chips come from Python, once; the page turns them (turning.js)
// and looks ways up.  A chip always covers what lies behind or before it, so that no way is drawn
// through a chip that is not on it.  Joined behind playback.js and turning.js.

const NOWHERE = 255;

function render({ model, el }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const scenes = JSON.parse(model.get("scenes"));
  const bytes = model.get("ways");
  const ways = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let scene, layout, before; // before: the drawing that the present one grows out of
  let view = { yaw: 0, pitch: 0, spin: 0 };
  let grown = 1, request = 0, building = false;
  let size = { width: 0, height: 0 };
  let chips = [], cables = []; // as seen, in CSS pixels
  let pointed = -1; // the cable under the pointer or focus
  let tones = {};

  // ---- the elements ------------------------------------------------------------------------
  const machines = make("select", {
    ...focusable("Machine"), class: "te-speed", on: { change: () => set({ machine: machines.value }) },
  }, ...Object.keys(scenes).map((name) => make("option", { value: name }, name)));
  const layoutRow = make("div", { class: "te-topo-layouts", role: "radiogroup", "aria-label": "Drawn as" });
  const spin = make("input", {
    ...focusable("Turn through the fourth dimension, degrees"), type: "range", min: 0, max: 90, step: 1, value: 0,
    on: { input: () => { view.spin = (Number(spin.value) * Math.PI) / 180; draw(); } },
  });
  const spinBox = make("label", { class: "te-topo-spin" }, "4th dimension", spin);
  const again = make("button", { ...focusable("Turn back to the first view"), type: "button", class: "te-button", on: { click: () => lookFrom(home()) } }, "reset view");
  const canvas = make("canvas", { role: "img" });
  const chipSpots = make("div", { class: "te-topo-spots", role: "group", "aria-label": "Chips: arrow keys move, the way is told below, Enter starts there" });
  const wireSpots = make("div", { class: "te-topo-spots", role: "group", "aria-label": "Cables: arrow keys move, Enter cuts or mends" });
  const stage = make("div", {
    ...focusable("The machine: arrow keys turn it"), class: "te-topo-stage", tabindex: 0, role: "group", on: { keydown: turnByKey },
  }, canvas, wireSpots, chipSpots);
  stage.removeAttribute("title");
  const told = make("div", { class: "te-topo-told", role: "status", "aria-live": "polite" });
  const hint = make("div", { class: "te-topo-hint" },
    "Drag to turn. Point at a chip: the way there. Click a chip: start from it. Click a cable: cut it, or mend it.");
  const root = make("div", { class: "te-topo", role: "group", "aria-label": "Topology explorer" },
    make("div", { class: "te-topo-top" }, machines, layoutRow, again, spinBox), stage, told, hint);
  el.append(root);

  function set(values) {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
  }
  function buildMachine() {
    cancelAnimationFrame(request);
    building = true; // nothing is drawn before all of the machine is there
    scene = scenes[model.get("machine")];
    machines.value = model.get("machine");
    const last = scene.chips - 1;
    const known = scene.wires.some(([a, b]) => `${a} - ${b}` === model.get("cut"));
    const drawn = scene.layouts[model.get("drawn_as")] ? model.get("drawn_as") : Object.keys(scene.layouts)[0];
    set({ start: Math.min(last, model.get("start")), end: Math.min(last, model.get("end")),
      cut: known ? model.get("cut") : "", drawn_as: drawn });
    layoutRow.replaceChildren(...Object.entries(scene.layouts).map(([key, one]) => make("button", {
      ...focusable(`Draw as ${one.label}`), type: "button", class: "te-button", role: "radio", "data-layout": key,
      on: { click: () => set({ drawn_as: key }) },
    }, one.label)));
    chipSpots.replaceChildren(...Array.from({ length: scene.chips }, (_, i) => spot("chip", i, chipName(i), () => goTo(i), () => set({ start: i }))));
    wireSpots.replaceChildren(...scene.wires.map((_, k) => spot("wire", k, wireName(k), () => point(k), () => cutOrMend(k))));
    layout = before = scene.layouts[drawn];
    grown = 1;
    pointed = -1;
    building = false;
    showLayout();
    view = home();
    fit();
    lookFrom(view);
    tell();
  }
  const home = () => ({ yaw: layout.view[0], pitch: layout.view[1], spin: 0 });
  const chipName = (i) => (scene.ranks > 1 ? `chip ${i}, ranks ${i * scene.ranks} to ${(i + 1) * scene.ranks - 1}` : `chip ${i}`);
  const wireName = (k) => `cable ${scene.wires[k].join(" – ")}`;
  const cutIndex = () => scene.wires.findIndex(([a, b]) => `${a} - ${b}` === model.get("cut"));
  const goTo = (chip) => { if (chip !== model.get("end")) set({ end: chip }); };
  const cutOrMend = (k) => set({ cut: k === cutIndex() ? "" : scene.wires[k].join(" - ") });
  function point(k) {
    if (k === pointed) return;
    pointed = k;
    draw();
  }

  /** An invisible button over a chip or a cable, for the keyboard. */
  function spot(kind, index, name, onFocus, onPress) {
    return make("button", {
      ...focusable(name), type: "button", class: `te-topo-spot te-topo-${kind}`, tabindex: index === 0 ? 0 : -1,
      on: { focus: onFocus, click: onPress, blur: () => point(-1), keydown: (e) => rove(e, kind, index) },
    });
  }
  /** Arrow keys move to the nearest chip or cable in that direction, as it is drawn now. */
  function rove(event, kind, index) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const centre = (i) => (kind === "chip" ? chips[i] : cables[i][6]);
    const box = kind === "chip" ? chipSpots : wireSpots;
    const [x, y] = centre(index);
    let best = -1, least = Infinity;
    for (let i = 0; i < box.children.length; i++) {
      const along = (centre(i)[0] - x) * way[0] + (centre(i)[1] - y) * way[1];
      const across = Math.abs((centre(i)[0] - x) * way[1]) + Math.abs((centre(i)[1] - y) * way[0]);
      if (along > 1 && along + 2.5 * across < least) [best, least] = [i, along + 2.5 * across];
    }
    if (best < 0) return;
    for (const child of box.children) child.tabIndex = -1;
    box.children[best].tabIndex = 0;
    box.children[best].focus();
  }

  // ---- turning -------------------------------------------------------------------------------
  function lookFrom(to) {
    view = { ...to };
    spin.value = String(Math.round((view.spin * 180) / Math.PI));
    draw();
  }
  function turn(yaw, pitch) {
    view.yaw += yaw;
    view.pitch = Math.max(-1.57, Math.min(1.57, view.pitch + pitch));
    draw();
  }
  function turnByKey(event) {
    if (event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, -0.12], ArrowDown: [0, 0.12] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    turn(...by);
  }
  /** Let one drawing grow into another: no cable is cut or added on the way. */
  function showLayout() {
    if (building) return;
    const next = scene.layouts[model.get("drawn_as")];
    for (const b of layoutRow.children) b.setAttribute("aria-checked", String(b.dataset.layout === model.get("drawn_as")));
    spinBox.style.visibility = next.chips.some((p) => p[3] !== 0) ? "visible" : "hidden";
    if (next === layout) return;
    cancelAnimationFrame(request);
    [before, layout] = [layout, next];
    tell();
    const from = { ...view }, to = home(), began = performance.now();
    const tick = (now) => {
      const t = still.matches ? 1 : Math.min(1, Math.max(0, (now - began) / 1400));
      grown = t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2;
      for (const name of ["yaw", "pitch", "spin"]) view[name] = from[name] + (to[name] - from[name]) * grown;
      if (t < 1 && root.isConnected) {
        draw();
        request = requestAnimationFrame(tick);
      } else lookFrom(to);
    };
    tick(began);
  }

  // ---- where things are seen -----------------------------------------------------------------
  function fit() {
    const width = Math.max(320, Math.min(858, Math.floor(root.clientWidth) - 2));
    size = { width, height: Math.round(Math.min(width * 0.74, 520)) };
    const ratio = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    canvas.style.width = stage.style.width = `${size.width}px`;
    canvas.style.height = stage.style.height = `${size.height}px`;
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    readTones();
    draw();
  }
  const scale = () => (0.5 * Math.min(size.height, size.width)) / 1.86;
  function place() {
    const blend = (a, b) => (grown >= 1 ? b : b.map((v, i) => a[i] + (v - a[i]) * grown));
    const pixel = (p, q) => {
      const [x, y, depth, near] = seen(blend(p, q), view);
      return [size.width / 2 + x * scale(), size.height / 2 + y * scale(), depth, near];
    };
    chips = layout.chips.map((p, i) => pixel(before.chips[i], p));
    cables = layout.cables.map((cable, k) => cable.map((p, i) => pixel(before.cables[k][i], p)));
    [...chipSpots.children].forEach((one, i) => {
      const half = halfOf(i);
      one.style.width = one.style.height = `${2 * half}px`;
      one.style.transform = `translate(${chips[i][0] - half}px, ${chips[i][1] - half}px)`;
    });
    [...wireSpots.children].forEach((one, k) => { one.style.transform = `translate(${cables[k][6][0] - 9}px, ${cables[k][6][1] - 9}px)`; });
  }
  const halfOf = (i) => Math.max(9, Math.min(24, scale() * 0.115 * chips[i][3] ** 1.4));
  /** The chips on the way from start to end, the cut cable left out: looked up. */
  function path() {
    const at = scene.begin + (((cutIndex() + 1) * scene.chips + model.get("start")) * scene.chips + model.get("end")) * scene.most;
    return [...ways.subarray(at, at + scene.most)].filter((chip) => chip !== NOWHERE);
  }

  // ---- drawing -------------------------------------------------------------------------------
  function readTones() {
    const style = getComputedStyle(root);
    const get = (name, other) => style.getPropertyValue(name).trim() || other;
    tones = {
      ink: get("--jp-ui-font-color0", "#111"), muted: get("--jp-ui-font-color2", "#666"),
      cable: get("--jp-border-color1", "#bbb"), paper: get("--jp-layout-color1", "#fff"),
      chip: get("--jp-layout-color2", "#eee"), brand: get("--jp-brand-color1", "#1976d2"),
      font: get("--jp-ui-font-family", "sans-serif"), hot: "#D55E00",
    };
  }
  function draw() {
    if (!size.width || building) return;
    place();
    const g = canvas.getContext("2d"), way = path(), cut = cutIndex();
    const onWay = new Set(way.slice(1).map((chip, i) => [way[i], chip].sort((a, b) => a - b).join()));
    g.clearRect(0, 0, size.width, size.height);
    const depth = (k) => cables[k].reduce((sum, p) => sum + p[2], 0) + (onWay.has(scene.wires[k].join()) ? 1e3 : 0);
    for (const k of [...cables.keys()].sort((a, b) => depth(a) - depth(b))) drawCable(g, k, onWay.has(scene.wires[k].join()), k === cut);
    for (const i of [...chips.keys()].sort((a, b) => chips[a][2] - chips[b][2])) drawChip(g, i, way.indexOf(i), way.length - 1);
    canvas.setAttribute("aria-label", `${model.get("machine")} drawn as ${layout.label}. ${told.textContent}`);
    root.dataset.drawn = String(Number(root.dataset.drawn || 0) + 1);
    root.dataset.view = `${view.yaw.toFixed(3)} ${view.pitch.toFixed(3)} ${view.spin.toFixed(3)}`;
  }
  function drawCable(g, k, onWay, cut) {
    const points = cables[k], near = points.reduce((sum, p) => sum + p[3], 0) / points.length;
    const stroke = (width, colour) => {
      g.lineWidth = width;
      g.strokeStyle = colour;
      g.beginPath();
      points.forEach((p, i) => (i ? g.lineTo(p[0], p[1]) : g.moveTo(p[0], p[1])));
      g.stroke();
    };
    g.lineJoin = "round";
    g.setLineDash(cut ? [2, 8] : []);
    if (!cut) stroke((onWay ? 10 : 7) * near, tones.paper); // so that crossings show what is in front
    stroke((k === pointed ? 7 : onWay ? 6 : cut ? 2.5 : 3.5) * near, onWay || cut ? tones.hot : k === pointed ? tones.brand : tones.cable);
    g.setLineDash([]);
  }
  function drawChip(g, i, place, last) {
    const [x, y] = chips[i], half = halfOf(i), end = place === 0 || place === last;
    const box = (more, colour) => {
      g.fillStyle = colour;
      g.beginPath();
      g.roundRect(x - half - more, y - half - more, 2 * (half + more), 2 * (half + more), 6);
      g.fill();
    };
    box(3.5, tones.paper); // a gap around each chip: cables pass behind it, never through it
    box(0, place >= 0 ? tones.hot : tones.chip);
    g.strokeStyle = end && place >= 0 ? tones.ink : tones.cable;
    g.lineWidth = end && place >= 0 ? 2.5 : 1;
    g.stroke();
    const note = half > 13.5 ? layout.notes[i] : "";
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillStyle = place >= 0 ? "#000" : tones.ink;
    g.font = `600 ${half > 13 ? 13 : 10}px ${tones.font}`;
    g.fillText(String(i), x, y - (note ? half * 0.28 : 0));
    if (!note) return;
    g.font = `${half > 15 ? 10 : 9}px ${tones.font}`;
    g.fillText(note, x, y + half * 0.48);
  }

  // ---- words ---------------------------------------------------------------------------------
  function tell() {
    if (building) return;
    const way = path(), hops = way.length - 1;
    const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    let text = `${way.join(" → ")}: ${many(hops, "hop")}.`;
    if (layout === scene.layouts.hypercube) {
      const [p, q] = [layout.notes[way[0]], layout.notes[way[hops]]];
      const flips = [...p].filter((bit, i) => bit !== q[i]).length;
      text += ` Hypercube addresses ${p} and ${q} differ in ${many(flips, "bit")}.`;
    }
    told.textContent = text;
    const cut = cutIndex();
    [...wireSpots.children].forEach((one, k) => one.setAttribute("aria-label", `${wireName(k)}, ${k === cut ? "cut: Enter mends it" : "Enter cuts it"}`));
    draw();
  }

  // ---- pointing ------------------------------------------------------------------------------
  let grip = null;
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const near = [...chips.keys()].sort((a, b) => chips[b][2] - chips[a][2]);
    const chip = near.find((i) => Math.max(Math.abs(chips[i][0] - x), Math.abs(chips[i][1] - y)) <= halfOf(i) + 2) ?? -1;
    const gaps = chip >= 0 ? [] : cables.map((points) => distanceTo(points, x, y));
    const wire = gaps.indexOf(Math.min(...gaps, 9));
    return { chip, wire };
  }
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    grip = { x: event.clientX, y: event.clientY, moved: false };
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (grip) {
      const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
      if (!grip.moved && Math.hypot(dx, dy) < 4) return;
      grip = { x: event.clientX, y: event.clientY, moved: true };
      return turn(dx * 0.01, dy * 0.01);
    }
    const { chip, wire } = under(event);
    stage.style.cursor = chip >= 0 || wire >= 0 ? "pointer" : "";
    point(wire);
    if (chip >= 0) goTo(chip);
  });
  stage.addEventListener("pointerup", (event) => {
    const { chip, wire } = under(event);
    if (grip && !grip.moved && chip >= 0) set({ start: chip });
    else if (grip && !grip.moved && wire >= 0) cutOrMend(wire);
    grip = null;
  });
  stage.addEventListener("pointercancel", () => { grip = null; });
  stage.addEventListener("pointerleave", () => point(-1));

  // ---- life ----------------------------------------------------------------------------------
  const watcher = new MutationObserver(() => setTimeout(() => { readTones(); draw(); }, 60));
  watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const resizer = new ResizeObserver(() => { if (Math.abs(Math.min(858, root.clientWidth - 2) - size.width) > 1) fit(); });
  resizer.observe(root);
  model.on("change:machine", buildMachine);
  model.on("change:drawn_as", showLayout);
  model.on("change:start change:end change:cut", tell);
  buildMachine();
  return () => {
    cancelAnimationFrame(request);
    watcher.disconnect();
    resizer.disconnect();
    model.off("change:machine", buildMachine);
    model.off("change:drawn_as", showLayout);
    model.off("change:start change:end change:cut", tell);
  };
}
export default { render };
