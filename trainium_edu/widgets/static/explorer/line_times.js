// What each source line of a kernel costs, and what its words are.

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

const KEYWORDS =
  "and as assert def elif else False for from if import in None not or raise return True while " +
  "with";
const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const KINDS = [
  "(?<comment>#.*$)",
  `(?<string>${STRING})`,
  String.raw`\b(?<keyword>${KEYWORDS.replaceAll(" ", "|")})\b`,
  String.raw`(?<number>\b\d[\d_.]*\b)`,
];
const PYTHON = new RegExp(KINDS.join("|"), "g");

/** Cut a line of Python into [text, kind]; kind is "" for what is none of the four. */
export function wordsOf(text) {
  const found = [];
  let last = 0;
  for (const { 0: word, index, groups } of text.matchAll(PYTHON)) {
    if (index > last) found.push([text.slice(last, index), ""]);
    found.push([word, Object.keys(groups).find((kind) => groups[kind] !== undefined)]);
    last = index + word.length;
  }
  if (last < text.length) found.push([text.slice(last), ""]);
  return found;
}
