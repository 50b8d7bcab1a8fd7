// What each source line of a kernel costs.

/** Time on the critical path per line of the book: its own, and in functions that it calls. */
export function timePerLine(book, film) {
  const own = new Float64Array(book.lines.length);
  const called = new Float64Array(book.lines.length);
  film.pieces_row.forEach((row, p) => {
    const i = film.rows_instruction[row];
    const ns = film.pieces_end[p] - film.pieces_start[p];
    if (i >= 0 && book.i_line[i] >= 0) own[book.i_line[i]] += ns;
    if (i >= 0 && book.i_call[i] >= 0) called[book.i_call[i]] += ns;
  });
  return { own, called };
}
