// What is lit when something is picked: the instructions and tiles that belong to it.

import { touchedBy } from "./film.js";

const NS = 1e-6; // of rounding

/** Return `lit(row)` and `litTile(tile)`, or null where nothing is dimmed. */
export function lighting({ film, book, line, tile, picked, word }) {
  if (word) return { lit: (r) => film.tracks[film.rows_lane[r]]?.[1] === word, litTile: null };
  if (line >= 0) return ofLine(film, book, line);
  if (tile >= 0) {
    const allocation = film.tiles_allocation[tile];
    const [begin, end] = [film.tiles_start[tile] - NS, film.tiles_end[tile] + NS];
    const isInside = (r) => film.rows_start[r] >= begin && film.rows_end[r] <= end;
    const touches = (i) => i >= 0 && touchedBy(book, i).includes(allocation);
    const lit = (r) => isInside(r) && touches(film.rows_instruction[r]);
    return { lit, litTile: (i) => i === tile };
  }
  if (picked < 0 || film.rows_instruction[picked] < 0) return { lit: null, litTile: null };
  const touched = new Set(touchedBy(book, film.rows_instruction[picked]));
  const litTile = (i) =>
    touched.has(film.tiles_allocation[i]) &&
    film.tiles_start[i] <= film.rows_start[picked] + NS &&
    film.tiles_end[i] >= film.rows_end[picked] - NS;
  return { lit: null, litTile };
}

/** A line lights what it issued or called, the tiles it made, and who touches those. */
function ofLine(film, book, line) {
  const isMade = (a) => book.allocations[a].line === line;
  const made = new Set([...book.allocations.keys()].filter(isMade));
  const isWanted = (at, i) =>
    at === line || book.i_call[i] === line || touchedBy(book, i).some((a) => made.has(a));
  const wanted = Uint8Array.from(book.i_line, isWanted);
  const touched = new Set(made);
  if (!made.size)
    wanted.forEach((on, i) => on && touchedBy(book, i).forEach((a) => touched.add(a)));
  return {
    lit: (r) => film.rows_instruction[r] >= 0 && wanted[film.rows_instruction[r]] === 1,
    litTile: (i) => touched.has(film.tiles_allocation[i]),
  };
}
