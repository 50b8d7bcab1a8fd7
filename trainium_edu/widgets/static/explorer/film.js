// What Python packed (see viz/core_film.py), ready to be drawn: a book once, a film per timing.

import { bytesOf, unpack } from "../shared/bytes.js";
import { chains, sortedSpans } from "./spans.js";

/** Return the data of a view, or null for an empty one. */
export const dataOf = (view) => (view?.byteLength ? unpack(bytesOf(view)) : null);

/** Add to a film what drawing asks for: spans by track, waits and pieces by row. */
export function indexFilm(film) {
  const byTrack = film.tracks.map(() => []);
  film.spans_track.forEach((track, i) => byTrack[track].push(i));
  film.byTrack = byTrack.map((list) =>
    sortedSpans(list, film.spans_start, film.spans_end, film.spans_row),
  );
  film.waitsOf = chains(film.rows_start.length, film.waits_row);
  film.piecesOf = chains(film.rows_start.length, film.pieces_row);
  const { pieces_start: start, pieces_end: end, pieces_row: row } = film;
  film.path = { start, end, until: end, row };
  film.mostLoad = film.load.reduce((most, n) => Math.max(most, n), 0);
  return film;
}

/** The rows of some tracks as spans, a transfer once however many queues it used. */
export function rowsOf(film, tracks) {
  const wanted = new Set(tracks);
  const list = [...film.rows_lane.keys()].filter((r) => wanted.has(film.rows_lane[r]));
  return sortedSpans(list, film.rows_start, film.rows_end);
}

/** The allocations that a recorded instruction touches. */
export const touchedBy = (book, instruction) =>
  book.a_allocation.subarray(book.a_first[instruction], book.a_first[instruction + 1]);
