// Where the array stands in its picture: pure.

const HEAT_MOST = 640; // pixels

/**
 * The place of the array's first cell, the size of all, and how many cells are free left of it
 * (`queue`), above and below, for what enters and leaves.
 */
export function layoutFor(width, { rows, columns, isLarge, keepsSums }) {
  if (isLarge) {
    const side = Math.min(width - 30, HEAT_MOST);
    const size = { width: Math.min(width, Math.ceil(side + 32)), height: side + 24 };
    return { left: 28, top: 18, queue: 0, above: 0, below: 0, cell: side / columns, ...size };
  }
  const queue = columns <= 8 ? 4 : 3;
  const above = keepsSums ? 2.4 : 0.15;
  const below = columns <= 12 ? 2.3 : 1.4;
  const most = columns <= 12 ? Math.min(92, 620 / (rows + above + below)) : 24;
  const cell = Math.floor(Math.min((width - 34) / (columns + queue), most));
  const left = 30 + queue * cell;
  const top = 18 + above * cell;
  const wide = Math.min(width, Math.ceil(left + columns * cell + 4));
  const height = top + (rows + below) * cell + 2;
  return { left, top, queue, above, below, cell, width: wide, height };
}

/** The letters that fit into a cell, in pixels. */
export function letterSize(cell) {
  const share = cell >= 52 ? 0.19 : cell >= 34 ? 0.26 : 0.36;
  return Math.max(8, Math.min(15, cell * share));
}

/** The PE at a place of the picture, or null. */
export function peAt({ left, top, cell }, { rows, columns }, x, y) {
  const m = Math.floor((x - left) / cell);
  const k = Math.floor((y - top) / cell);
  return k >= 0 && k < rows && m >= 0 && m < columns ? { k, m } : null;
}

/** How strongly something is drawn that is `ahead` cells away, of at most `most`. */
export const nearness = (ahead, most, least = 0.25) =>
  Math.min(1, Math.max(least, 1 - ahead / most));
