// A kernel's source beside its time: each line with its share of the critical path.

import { focusable, make } from "../shared/elements.js";
import { answerKey } from "../shared/keys.js";
import { clamp } from "../shared/time.js";
import { timePerLine } from "./line_times.js";
import { nsText } from "../shared/words.js";

/** Make the panel; `choose(line)` is called with a line of the book, or -1. */
export function createSource(s, choose) {
  const keys = "Up and down arrows choose a line and mark its instructions";
  const look = { class: "te-core-source-list", role: "listbox", tabindex: "0", title: null };
  const name = `Source lines of the kernel: ${s.label}. ${keys}`;
  const list = make("div", focusable(name, { ...look, on: { keydown: onKey } }));
  const heads = ["Source", "time on the critical path"].map((text) => make("span", {}, text));
  const head = make("div", "te-core-code-head", ...heads);
  const element = make("div", "te-core-code", head, list);
  let book = null;
  let rows = []; // one per line of text

  function layout() {
    if (book !== s.book) build();
    book = s.book;
    const { own, called } = timePerLine(book, s.film);
    const most = Math.max(...own, 1e-9);
    for (const row of rows) if (row.line >= 0) showTime(row, own[row.line], called[row.line], most);
    mark();
  }
  function build() {
    rows = [];
    list.replaceChildren();
    for (const { file, function: of, first, words, lines } of s.book.sources) {
      const title = of ? `${file}, ${of}` : file;
      list.append(make("div", { class: "te-core-code-file", role: "presentation" }, title));
      const made = words.map((line, k) => lineOf(s.id, lines[k], first + k, line));
      list.append(...made.map((row) => row.node));
      rows.push(...made);
    }
    for (const { node, line } of rows)
      if (line >= 0)
        node.addEventListener("click", () => {
          list.focus({ preventScroll: true });
          choose(s.line === line ? -1 : line);
        });
  }
  function mark() {
    const [picked, hovered] = [s.picked, s.hover.row].map((row) => s.film.rows_instruction[row]);
    const { i_line: issued, i_call: called } = s.book;
    let current = null;
    for (const { node, line } of rows) {
      if (line < 0) continue;
      const isChosen = line === s.line || line === issued[picked];
      const isNear = [issued[hovered], called[hovered], called[picked]].includes(line);
      node.classList.toggle("te-core-on", isChosen);
      node.classList.toggle("te-core-near", isNear && !isChosen);
      node.setAttribute("aria-selected", String(isChosen));
      if (isChosen || (isNear && !current)) current = node;
    }
    if (current) intoView(list, current);
    if (s.line >= 0) list.setAttribute("aria-activedescendant", `${s.id}-line-${s.line}`);
    else list.removeAttribute("aria-activedescendant");
  }
  function onKey(event) {
    const lines = rows.map((row) => row.line).filter((line) => line >= 0);
    const at = lines.indexOf(s.line);
    const chosen = (i) => () => choose(lines[clamp(i, 0, lines.length - 1)] ?? -1);
    answerKey(event, {
      ArrowDown: chosen(at + 1),
      ArrowUp: chosen(at < 0 ? lines.length : at - 1),
      Escape: () => choose(-1),
    });
  }
  return { element, layout, mark };
}

/** Make a line of text: its number, its words, a bar and a time. */
function lineOf(id, line, number, words) {
  const text = words.map(([word]) => word).join("");
  const shown = words.map(([word, kind]) => (kind ? make("span", `te-core-${kind}`, word) : word));
  const code = make("code", { title: text.trim() }, ...(shown.length ? shown : [" "]));
  const no = make("span", "te-core-no", String(number));
  const bar = make("span", "te-core-line-bar");
  const time = make("span", "te-core-line-time");
  const issued = { role: "option", "aria-selected": "false", id: `${id}-line-${line}` };
  const silent = { class: "te-core-line", role: "presentation" };
  const attributes = line >= 0 ? { class: "te-core-line te-core-issued", ...issued } : silent;
  const node = make("div", attributes, no, code, bar, time);
  return { node, line, bar, time, said: `line ${number}: ${text.trim()}` };
}

/** Show a line's own time, or in brackets what the functions take that it calls. */
function showTime({ node, bar, time, said }, own, called, most) {
  const width = `width:${((100 * own) / most).toFixed(1)}%`;
  bar.replaceChildren(...(own > 0 ? [make("i", { style: width })] : []));
  time.textContent = own > 0 ? nsText(own, 2) : called > 0 ? `(${nsText(called, 2)})` : "";
  const isCall = !(own > 0) && called > 0;
  time.title = isCall ? "in the functions that this line calls" : "";
  const where = `on the critical path${isCall ? " in what it calls" : ""}`;
  const ns = own > 0 ? own : called;
  node.setAttribute("aria-label", ns > 0 ? `${said}, ${nsText(ns)} ${where}` : said);
}

function intoView(list, node) {
  const top = node.offsetTop - list.offsetTop;
  const { scrollTop, clientHeight, scrollHeight } = list;
  const isSeen = top >= scrollTop && top <= scrollTop + clientHeight - 24;
  if (scrollHeight > clientHeight && !isSeen) list.scrollTop = top - clientHeight / 3;
}
