// SBUF and PSUM over time: a tile is a rectangle, bytes of each partition high, from its first to its
// last access long.  Joined behind core_time.js.

const SITE_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#C9B800", "#8C8C8C"];

function createMemory(s) {
  const canvas = make("canvas", {
    ...focusable(`SBUF and PSUM over time: ${s.label}. Left and right arrows go from tile to tile, plus and minus zoom`),
    tabindex: "0", role: "application", class: "te-core-memory",
  });
  canvas.removeAttribute("title");
  let boxes = [];
  let height = 0;
  let order = []; // tiles by start

  function layout() {
    boxes = [];
    let y = s.panels.includes("timeline") ? 6 : 24;
    s.film.memories.forEach((memory, i) => {
      const top = s.allMemory || memory.banks ? memory.capacity : Math.min(memory.capacity, niceTop(memory.high || memory.capacity));
      const tall = memory.banks ? 104 : 132;
      boxes.push({ memory, index: i, y, height: tall, top });
      y += tall + 12;
    });
    height = y;
    order = [...s.film.tiles_start.keys()].sort((a, b) => s.film.tiles_start[a] - s.film.tiles_start[b]);
    for (const box of boxes) box.order = order.filter((i) => s.film.tiles_memory[i] === box.index);
  }
  const niceTop = (bytes) => {
    const step = 2 ** Math.max(6, Math.floor(Math.log2(bytes)) - 1);
    return Math.ceil((bytes * 1.06) / step) * step;
  };
  const yOf = (box, byte) => box.y + box.height * (1 - byte / box.top);

  function draw() {
    if (!s.film) return;
    const { view, tones, film } = s;
    const width = GUTTER + view.width + RIGHT;
    const c = fitCanvas(canvas, width, height);
    c.clearRect(0, 0, width, height);
    if (!s.panels.includes("timeline")) drawTimeAxis(c, view, tones, 18, height - 6);
    for (const box of boxes) drawGutter(c, box);
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, view.width, height);
    c.clip();
    for (const box of boxes) drawTiles(c, box);
    if (s.cursor >= 0) {
      const x = Math.round(view.x(s.cursor)) + 0.5;
      c.strokeStyle = tones.mark;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x, height);
      c.stroke();
    }
    c.restore();
  }
  function drawGutter(c, box) {
    const { tones } = s;
    const { memory } = box;
    c.textBaseline = "middle";
    c.fillStyle = tones.ink;
    c.font = `bold 12px ${tones.font}`;
    c.textAlign = "left";
    c.fillText(memory.name, 4, box.y + 8);
    c.font = `11px ${tones.font}`;
    c.fillStyle = tones.muted;
    c.fillText(memory.banks ? `${memory.banks} banks` : "bytes of each", 4, box.y + 24);
    c.fillText(memory.banks ? `of ${bytesText(memory.capacity / memory.banks)}` : "partition", 4, box.y + 38);
    c.textAlign = "right";
    const count = memory.banks || 4;
    for (let k = 0; k <= count; k++) {
      const y = Math.round(yOf(box, (box.top * k) / count)) + 0.5;
      c.strokeStyle = tones.line;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(GUTTER, y);
      c.lineTo(GUTTER + s.view.width, y);
      c.stroke();
      if (memory.banks) {
        if (k < count) c.fillText(String(k), GUTTER - 6, yOf(box, (box.top * (k + 0.5)) / count));
      } else if (k % 2 === 0 || k === count) c.fillText(bytesText((box.top * k) / count), GUTTER - 6, Math.min(box.y + box.height - 5, Math.max(box.y + 5, y)));
    }
  }
  function drawTiles(c, box) {
    const { view, film, tones } = s;
    c.font = `10.5px ${tones.font}`;
    c.textBaseline = "middle";
    c.textAlign = "left";
    const seen = new Map(); // per place, the last column of pixels with a tile too small to see
    for (const i of box.order) {
      if (film.tiles_start[i] > view.hi) break;
      if (film.tiles_end[i] < view.lo) continue;
      const x0 = Math.max(GUTTER - 3, view.x(film.tiles_start[i])), x1 = Math.min(GUTTER + view.width + 3, view.x(film.tiles_end[i]));
      const on = !s.litTile || s.litTile(i);
      const bottom = yOf(box, film.tiles_address[i]);
      const tall = Math.max(1.2, (film.tiles_bytes[i] / box.top) * box.height - 0.6);
      const colour = tileColour(i);
      if (x1 - x0 < 1.2) { // one column of pixels: once is enough
        const column = Math.floor(x0);
        if (seen.get(film.tiles_address[i]) === column) continue;
        seen.set(film.tiles_address[i], column);
      }
      c.globalAlpha = on ? (film.tiles_slot[i] % 2 ? 0.62 : 0.92) : 0.16;
      c.fillStyle = colour;
      const wide = Math.max(1, x1 - x0 - (x1 - x0 > 5 ? 1 : 0));
      c.fillRect(x0, bottom - tall, wide, tall);
      c.globalAlpha = 1;
      if (i === s.hover.tile || i === s.tile) {
        c.strokeStyle = i === s.tile ? tones.mark : tones.ink;
        c.lineWidth = 2;
        c.strokeRect(x0, bottom - tall, wide, tall);
      }
      if (wide > 36 && tall > 11 && on) {
        const text = s.book?.allocations?.[film.tiles_allocation[i]]?.name ?? "";
        const most = Math.floor((wide - 6) / 5.9);
        c.fillStyle = tones.dark && film.tiles_slot[i] % 2 ? "#fff" : letterOn(colour);
        if (film.tiles_slot[i] % 2 && !tones.dark) c.fillStyle = "#000";
        c.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text, x0 + 4, bottom - tall / 2);
      }
    }
    const line = (bytes, dash, text, colour) => {
      const y = Math.round(yOf(box, bytes)) + 0.5;
      c.strokeStyle = colour;
      c.lineWidth = 1.4;
      c.setLineDash(dash);
      c.beginPath();
      c.moveTo(GUTTER, y);
      c.lineTo(GUTTER + view.width, y);
      c.stroke();
      c.setLineDash([]);
      c.font = `11px ${tones.font}`;
      c.textAlign = "right";
      const wide = c.measureText(text).width + 8;
      const above = y - 8 > box.y;
      c.fillStyle = tones.paper;
      c.globalAlpha = 0.85;
      c.fillRect(GUTTER + view.width - wide, above ? y - 16 : y + 2, wide, 14);
      c.globalAlpha = 1;
      c.fillStyle = tones.ink;
      c.fillText(text, GUTTER + view.width - 4, above ? y - 8 : y + 9);
    };
    if (box.memory.high) line(box.memory.high, [5, 3], `high water ${bytesText(box.memory.high)} of ${bytesText(box.memory.capacity)}`, tones.ink);
    if (box.top >= box.memory.capacity) line(box.memory.capacity, [], box.memory.high ? "" : `capacity ${bytesText(box.memory.capacity)}, nothing in it`, tones.mark);
  }
  const tileColour = (i) => SITE_COLOURS[(s.book?.allocations?.[s.film.tiles_allocation[i]]?.site ?? 0) % SITE_COLOURS.length];

  function hit(x, y) {
    const box = boxes.find((b) => y >= b.y && y < b.y + b.height);
    if (!box || x < GUTTER) return -1;
    const t = s.view.t(x), byte = (1 - (y - box.y) / box.height) * box.top;
    const slack = 1.5 / s.view.scale, slackBytes = (1.5 / box.height) * box.top;
    let best = -1;
    for (const i of order) {
      if (s.film.tiles_start[i] > t + slack) break;
      if (s.film.tiles_memory[i] !== box.index || s.film.tiles_end[i] < t - slack) continue;
      const low = s.film.tiles_address[i];
      if (byte >= low - slackBytes && byte <= low + s.film.tiles_bytes[i] + slackBytes) best = i;
    }
    return best;
  }
  function neighbour(tile, way) {
    const at = order.indexOf(tile);
    return order.length ? order[Math.min(order.length - 1, Math.max(0, at < 0 ? 0 : at + way))] : -1;
  }
  return { element: canvas, layout, draw, hit, neighbour, get height() { return height; } };
}
