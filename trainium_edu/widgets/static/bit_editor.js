// The bit editor: flip the bits of one number, read what they stand for.  Every value and every text
// comes from Python (trainium_edu.numerics); this file flips a bit of the code and draws the answer.
const NS = "http://www.w3.org/2000/svg";

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

function render({ model, el: host }) {
  const formats = model.get("formats"); // [{name, label, colour, about}]
  let bits = []; // the buttons, from the left
  let shape = ""; // which format they were made for
  let at = 0; // the one that takes the focus

  const send = (content) => model.send(content);
  const button = (name, text, content) => el("button", { ...focusable(name), type: "button", class: "te-button", on: { click: () => send(content()) } }, text);

  const select = el("select", { ...focusable("Number format"), class: "te-be-select", on: { change: () => send({ do: "format", format: select.value }) } },
    ...formats.map((f) => el("option", { value: f.name }, f.label)));
  const typed = el("input", {
    ...focusable("A number such as 0.1 or 1/3; Enter encodes it"), type: "text", class: "te-be-typed", size: 10, placeholder: "e.g. 0.1",
    on: { keydown: (e) => { e.stopPropagation(); if (e.key === "Enter") send({ do: "type", text: typed.value }); } },
  });
  const marks = el("span", { class: "te-be-marks" });
  const message = el("span", { class: "te-be-message", role: "status" });
  const top = el("div", { class: "te-be-bar" }, el("label", {}, "Format ", select), el("label", {}, "Encode ", typed),
    button("Encode the number typed", "Go", () => ({ do: "type", text: typed.value })), marks, message);
  const strip = el("div", { class: "te-be-strip", role: "group", "aria-label": "Bits: arrow keys left and right move, Space flips, up and down go to the next number" });
  const reading = el("div", { class: "te-be-reading" });
  const formula = el("div", { class: "te-be-formula" });
  const facts = el("div", { class: "te-be-facts" });
  const steps = el("div", { class: "te-be-bar te-be-steps" });
  const map = el("div", { class: "te-be-map" });
  const others = el("table", { class: "te-be-others" });
  const live = el("div", { class: "te-be-live", "aria-live": "polite" });
  host.append(el("div", { class: "te-be" }, top, strip, reading, formula, steps, facts, map, others, live));

  const down = button("The next smaller number", "◀ next smaller", () => ({ do: "step", way: -1 }));
  const up = button("The next larger number", "next larger ▶", () => ({ do: "step", way: 1 }));
  const below = el("span", { class: "te-be-near" }), above = el("span", { class: "te-be-near" });
  steps.append(down, below, el("span", { class: "te-be-here" }, "·"), above, up);

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowLeft: () => focus(at - 1), ArrowRight: () => focus(at + 1), Home: () => focus(0), End: () => focus(bits.length - 1),
      ArrowUp: () => send({ do: "step", way: 1 }), ArrowDown: () => send({ do: "step", way: -1 }),
      " ": () => flip(at), Enter: () => flip(at), 0: () => put(at, "0"), 1: () => put(at, "1"),
    };
    if (!actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }
  function focus(i) {
    bits[at].tabIndex = -1;
    at = Math.min(bits.length - 1, Math.max(0, i));
    bits[at].tabIndex = 0;
    bits[at].focus();
  }
  const flip = (i) => send({ do: "flip", bit: bits.length - 1 - i });
  function put(i, digit) {
    if (bits[i].textContent !== digit) flip(i);
    if (i < bits.length - 1) focus(i + 1);
  }

  /** One box per bit, grouped by field; made anew only for another format. */
  function makeBits(answer) {
    shape = answer.shape;
    bits = [];
    at = Math.min(at, answer.places.length - 1);
    strip.replaceChildren(...answer.fields.map(({ kind, label }) => {
      const mine = answer.places.map((place, i) => [place, i]).filter(([place]) => place.kind === kind);
      const boxes = mine.map(([place, i]) => {
        const bit = el("button", {
          type: "button", role: "switch", class: "te-be-bit", tabindex: i === at ? 0 : -1, "data-lm-suppress-shortcuts": "true",
          on: { click: () => { bits[at].tabIndex = -1; at = i; bit.tabIndex = 0; bit.focus(); flip(i); }, keydown: onKey },
        });
        bits[i] = bit;
        return el("span", { class: "te-be-place" }, bit, el("small", { "aria-hidden": "true" }, place.worth));
      });
      return el("div", { class: `te-be-field te-be-${kind}`, role: "group", "aria-label": label }, el("div", { class: "te-be-boxes" }, ...boxes), el("div", { class: "te-be-name" }, label));
    }));
    bits = bits.slice(0, answer.places.length);
  }

  function drawMap(answer) {
    const width = Math.max(260, map.clientWidth || 700);
    const { ticks, marks: labels, here, zone, caption } = answer.range;
    const x = (share) => 12 + share * (width - 24);
    const wide = svg("svg", { width, height: 62, role: "img", "aria-label": caption });
    wide.append(svg("text", { x: 0, y: 11, class: "te-be-small" }, caption));
    if (zone) wide.append(svg("rect", { x: x(zone[0]), y: 22, width: x(zone[1]) - x(zone[0]), height: 16, class: "te-be-zone" }));
    wide.append(svg("line", { x1: x(0), x2: x(1), y1: 38, y2: 38, class: "te-be-base" }));
    wide.append(svg("path", { d: ticks.map((t) => `M${x(t).toFixed(1)},30V38`).join(""), class: "te-be-ticks" }));
    const taken = []; // labels come in order of importance; what would overlap is left out
    for (const [share, text] of labels) {
      const half = text.length * 3.1 + 4;
      const middle = Math.min(width - half, Math.max(half, x(share)));
      if (taken.some(([a, b]) => middle - half < b && middle + half > a)) continue;
      taken.push([middle - half, middle + half]);
      wide.append(svg("text", { x: middle, y: 54, "text-anchor": "middle", class: "te-be-small" }, text));
    }
    if (here !== null) wide.append(svg("path", { d: `M${x(here)},38 l-6,-12 h12 z`, class: "te-be-marker" }));
    const parts = [wide];
    if (answer.close.length > 1) {
      const near = svg("svg", { width, height: 58, role: "img", "aria-label": answer.close_caption });
      near.append(svg("text", { x: 0, y: 11, class: "te-be-small" }, answer.close_caption));
      near.append(svg("line", { x1: x(0), x2: x(1), y1: 34, y2: 34, class: "te-be-base" }));
      for (const [share, text, mine] of answer.close) {
        near.append(svg("line", { x1: x(share), x2: x(share), y1: 24, y2: 38, class: mine ? "te-be-mine" : "te-be-ticks" }));
        if (mine) near.append(svg("path", { d: `M${x(share)},24 l-6,-10 h12 z`, class: "te-be-marker" }));
      }
      const own = answer.close.find(([, , mine]) => mine);
      const size = (text) => text.length * 6.6;
      const spots = own ? [[x(own[0]) - size(own[1]) / 2 - 4, x(own[0]) + size(own[1]) / 2 + 4]] : [];
      for (const [share, text, mine] of own ? [own, ...answer.close.filter((c) => !c[2])] : answer.close) {
        const middle = Math.min(width - size(text) / 2, Math.max(size(text) / 2, x(share)));
        const [a, b] = [middle - size(text) / 2, middle + size(text) / 2];
        if (!mine && spots.some(([c, d]) => a < d + 6 && b > c - 6)) continue;
        spots.push([a, b]);
        near.append(svg("text", { x: middle, y: 52, "text-anchor": "middle", class: mine ? "te-be-strong" : "te-be-small" }, text));
      }
      parts.push(near);
    }
    map.replaceChildren(...parts);
  }

  function draw() {
    const answer = model.get("answer");
    const format = formats.find((f) => f.name === answer.format);
    host.firstChild.style.setProperty("--c", format.colour);
    select.value = answer.format;
    select.title = format.about;
    if (answer.shape !== shape) {
      const had = strip.contains(document.activeElement);
      makeBits(answer);
      if (had) focus(at);
    }
    answer.places.forEach((place, i) => {
      const bit = bits[i];
      bit.textContent = place.bit;
      bit.classList.toggle("te-on", place.bit === "1");
      bit.setAttribute("aria-checked", place.bit === "1");
      bit.setAttribute("aria-label", place.say);
      bit.title = place.say;
    });
    marks.replaceChildren(...answer.landmarks.map((name) => button(`Go to ${name}`, name, () => ({ do: "landmark", name }))));
    reading.replaceChildren(el("strong", {}, answer.value_text), el("span", { class: "te-be-kind" }, answer.kind_text));
    formula.replaceChildren(...answer.formula.map(([kind, text]) => (kind ? el("b", { class: `te-be-ink-${kind}` }, text) : text)));
    facts.replaceChildren(...answer.facts.flatMap(([name, text]) => [el("span", { class: "te-be-fact" }, name), el("span", {}, text)]));
    below.textContent = answer.below_text;
    above.textContent = answer.above_text;
    down.disabled = !answer.has_below;
    up.disabled = !answer.has_above;
    message.textContent = answer.message;
    others.replaceChildren(
      el("caption", {}, answer.others_caption),
      el("thead", {}, el("tr", {}, ...["Format", "keeps", "code", "what happened"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", {}, ...answer.others.map((row) => {
        const other = formats.find((f) => f.name === row.format);
        const open = el("button", { ...focusable(`Edit the bits in ${other.label}`), type: "button", class: "te-be-open", on: { click: () => send({ do: "format", format: row.format }) } }, el("i", { style: `background:${other.colour}` }), " ", other.label);
        return el("tr", {}, el("th", { scope: "row" }, open), el("td", { class: "te-be-number" }, row.value), el("td", { class: "te-be-code" }, row.hex), el("td", { class: `te-be-${row.outcome}` }, row.said));
      })));
    live.textContent = answer.sentence;
    drawMap(answer);
    host.dataset.drawn = String(Number(host.dataset.drawn || 0) + 1);
  }
  model.on("change:answer", draw);
  let width = 0;
  const watcher = new ResizeObserver(() => { if (Math.abs(map.clientWidth - width) > 1) { width = map.clientWidth; drawMap(model.get("answer")); } });
  watcher.observe(map);
  draw();
  return () => { watcher.disconnect(); model.off("change:answer", draw); };
}
export default { render };
