// Where memories and their tiles stand in the picture, and which tile is under a point of it.

import { GUTTER } from "./time_window.js";

const TALL = 132; // pixels of a memory without banks
const TALL_BANKS = 104;
const APART = 12;

/** The least round number of bytes that shows a high-water mark with some room above it. */
export function niceTop(bytes) {
  const step = 2 ** Math.max(6, Math.floor(Math.log2(bytes)) - 1);
  return Math.ceil((bytes * 1.06) / step) * step;
}

/** Lay the memories of a film out from `y` down, each with its tiles in order of time. */
export function layOutMemories(film, { allMemory, y }) {
  const starts = film.tiles_start;
  const order = [...starts.keys()].sort((a, b) => starts[a] - starts[b]);
  const boxes = film.memories.map((memory, index) => {
    const { capacity, banks, high } = memory;
    const top = allMemory || banks ? capacity : Math.min(capacity, niceTop(high || capacity));
    const tiles = order.filter((i) => film.tiles_memory[i] === index);
    const box = { memory, tiles, y, height: banks ? TALL_BANKS : TALL, top };
    y += box.height + APART;
    return box;
  });
  return { boxes, order, height: y };
}

/** The height of a byte in the picture. */
export const yOf = (box, byte) => box.y + box.height * (1 - byte / box.top);

/** The tile at a point, the latest where several are near; -1 if there is none. */
export function hitTile({ boxes }, film, view, x, y) {
  const box = boxes.find((b) => y >= b.y && y < b.y + b.height);
  if (!box || x < GUTTER) return -1;
  const t = view.t(x);
  const byte = (1 - (y - box.y) / box.height) * box.top;
  const slack = 1.5 / view.scale;
  const slackBytes = (1.5 / box.height) * box.top;
  return box.tiles.reduce((best, i) => {
    const low = film.tiles_address[i];
    const inTime = film.tiles_start[i] <= t + slack && film.tiles_end[i] >= t - slack;
    const inPlace = byte >= low - slackBytes && byte <= low + film.tiles_bytes[i] + slackBytes;
    return inTime && inPlace ? i : best;
  }, -1);
}

/** The tile before or after a tile in time. */
export function nextTile({ order }, tile, way) {
  if (!order.length) return -1;
  const at = order.indexOf(tile);
  return order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + way))];
}
