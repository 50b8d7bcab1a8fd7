// SBUF and PSUM over time: a tile is a rectangle, bytes of each partition high, from its first to
// its last access long.

import { cleared, frame, letterOn, stroke } from "../shared/canvas.js";
import { drawPlot, drawTimeAxis, fill, panelCanvas, type } from "./drawing.js";
import { hitTile, layOutMemories, nextTile, yOf } from "./memory_layout.js";
import { GUTTER } from "./time_window.js";
import { bytesText, shortened } from "../shared/words.js";

const COLOURS = "#0072B2 #E69F00 #009E73 #CC79A7 #56B4E9 #D55E00 #C9B800 #8C8C8C";
const SITE_COLOURS = COLOURS.split(" ");
const NARROW = 1.2; // pixels: of such tiles one per column is drawn

export const siteColour = (allocation) =>
  SITE_COLOURS[(allocation?.site ?? 0) % SITE_COLOURS.length];

export function createMemory(s) {
  const keys = "Left and right arrows go from tile to tile, plus and minus zoom";
  const element = panelCanvas(`SBUF and PSUM over time: ${s.label}. ${keys}`, "te-core-memory");
  const isAlone = !s.panels.includes("timeline");
  let plan = { boxes: [], order: [], height: 0 };
  return {
    element,
    layout: () => (plan = layOutMemories(s.film, { allMemory: s.allMemory, y: isAlone ? 24 : 6 })),
    draw() {
      const { boxes, height } = plan;
      const c = cleared(element, s.view.wide, height);
      if (isAlone) drawTimeAxis(c, s.view, s.tones, 18, height - 6);
      for (const box of boxes) drawScale(c, s, box);
      drawPlot(s, c, 0, height, () => {
        for (const box of boxes) {
          drawTiles(c, s, box);
          drawMarks(c, s, box);
        }
      });
    },
    hit: (x, y) => ({ row: -1, piece: -1, tile: hitTile(plan, s.film, s.view, x, y) }),
    step: (sideways, down) => ({ tile: nextTile(plan, s.tile, sideways || down) }),
  };
}

function drawScale(c, { view, tones }, box) {
  const { name, banks, capacity } = box.memory;
  type(c, `bold 12px ${tones.font}`, tones.ink);
  c.fillText(name, 4, box.y + 8);
  type(c, `11px ${tones.font}`, tones.muted);
  c.fillText(banks ? `${banks} banks` : "bytes of each", 4, box.y + 24);
  c.fillText(banks ? `of ${bytesText(capacity / banks)}` : "partition", 4, box.y + 38);
  c.textAlign = "right";
  const count = banks || 4;
  for (let k = 0; k <= count; k++) {
    const bytes = (box.top * k) / count;
    const y = Math.round(yOf(box, bytes)) + 0.5;
    stroke(c, GUTTER, y, view.right, y, tones.line);
    const middle = yOf(box, bytes + box.top / count / 2);
    if (banks && k < count) c.fillText(String(k), GUTTER - 6, middle);
    const inside = Math.min(box.y + box.height - 5, Math.max(box.y + 5, y));
    if (!banks && k % 2 === 0) c.fillText(bytesText(bytes), GUTTER - 6, inside);
  }
}

function drawTiles(c, s, box) {
  const { view, film, tones } = s;
  const seen = new Map(); // per address, the last column of pixels with a tile too small to see
  type(c, `10.5px ${tones.font}`, tones.ink);
  for (const i of box.tiles) {
    if (film.tiles_start[i] > view.hi) break;
    if (film.tiles_end[i] < view.lo) continue;
    const [x0, x1] = view.clipped(film.tiles_start[i], film.tiles_end[i]);
    const address = film.tiles_address[i];
    if (x1 - x0 < NARROW) {
      if (seen.get(address) === Math.floor(x0)) continue;
      seen.set(address, Math.floor(x0));
    }
    const isLit = !s.litTile || s.litTile(i);
    const isSecond = film.tiles_slot[i] % 2 === 1; // slots alternate in strength
    const allocation = s.book.allocations[film.tiles_allocation[i]];
    const colour = siteColour(allocation);
    const wide = Math.max(1, x1 - x0 - (x1 - x0 > 5 ? 1 : 0));
    const tall = Math.max(1.2, (film.tiles_bytes[i] / box.top) * box.height - 0.6);
    const y = yOf(box, address) - tall;
    fill(c, colour, isLit ? (isSecond ? 0.62 : 0.92) : 0.16, x0, y, wide, tall);
    if (i === s.hover.tile || i === s.tile)
      frame(c, i === s.tile ? tones.mark : tones.ink, 2, x0, y, wide, tall);
    if (wide > 36 && tall > 11 && isLit) {
      c.fillStyle = !isSecond ? letterOn(colour) : tones.dark ? "#fff" : "#000";
      const text = shortened(allocation?.name ?? "", Math.floor((wide - 6) / 5.9), 0);
      c.fillText(text, x0 + 4, y + tall / 2);
    }
  }
}

/** Mark how much was used at most, and where the memory ends. */
function drawMarks(c, { view, tones }, box) {
  const { high, capacity } = box.memory;
  const mark = (bytes, dash, text, colour) => {
    const y = Math.round(yOf(box, bytes)) + 0.5;
    stroke(c, GUTTER, y, view.right, y, colour, 1.4, dash);
    if (!text) return;
    type(c, `11px ${tones.font}`, tones.ink, "right");
    const wide = c.measureText(text).width + 8;
    const top = y - 8 > box.y ? y - 16 : y + 2;
    fill(c, tones.paper, 0.85, view.right - wide, top, wide, 14);
    c.fillStyle = tones.ink;
    c.fillText(text, view.right - 4, top + 7.5);
  };
  const all = bytesText(capacity);
  if (high) mark(high, [5, 3], `high water ${bytesText(high)} of ${all}`, tones.ink);
  if (box.top >= capacity)
    mark(capacity, [], high ? "" : `capacity ${all}, nothing in it`, tones.mark);
}
