// A kernel's source beside its time: each line with its share of the critical path.
// Joined behind core_time.js.

function createSource(s) {
  const list = make("div", { class: "te-core-source-list", role: "listbox", ...focusable(`Source lines of the kernel: ${s.label}. Up and down arrows choose a line and mark its instructions`), tabindex: "0" });
  list.removeAttribute("title");
  const element = make("div", { class: "te-core-code" }, make("div", { class: "te-core-code-head" }, make("span", {}, "Source"), make("span", {}, "time on the critical path")), list);
  let options = []; // [{node, line}] of lines that issued something
  let all = [];

  function layout() {
    const { book, film } = s;
    const spent = new Float64Array(book.lines.length);
    const through = new Float64Array(book.lines.length); // in functions that the kernel's line calls
    for (let p = 0; p < film.pieces_start.length; p++) {
      const i = film.rows_instruction[film.pieces_row[p]];
      const ns = film.pieces_end[p] - film.pieces_start[p];
      if (i >= 0 && book.i_line[i] >= 0) spent[book.i_line[i]] += ns;
      if (i >= 0 && book.i_call[i] >= 0) through[book.i_call[i]] += ns;
    }
    const most = Math.max(...spent, 1e-9);
    options = [];
    all = [];
    list.replaceChildren();
    for (const part of book.sources) {
      list.append(make("div", { class: "te-core-code-file", role: "presentation" }, part.function ? `${part.file}, ${part.function}` : part.file));
      part.text.forEach((text, k) => {
        const line = part.lines[k]; // index into book.lines or -1
        const issued = line >= 0;
        const ns = issued ? spent[line] : 0;
        const calls = issued ? through[line] : 0;
        const said = ns > 0 ? nsText(ns, 2) : calls > 0 ? `(${nsText(calls, 2)})` : ""; // in brackets: in what it calls
        const number = make("span", { class: "te-core-no" }, String(part.first + k));
        const code = make("code", { title: text.trim() }, ...coloured(text));
        const bar = make("span", { class: "te-core-line-bar" }, ...(ns > 0 ? [make("i", { style: `width:${((100 * ns) / most).toFixed(1)}%` })] : []));
        const time = make("span", { class: "te-core-line-time", ...(calls > 0 && !(ns > 0) ? { title: "in the functions that this line calls" } : {}) }, said);
        const node = make("div", issued
          ? { class: "te-core-line te-core-issued", role: "option", "aria-selected": "false", id: `${s.id}-line-${line}`,
              "aria-label": `line ${part.first + k}: ${text.trim()}${ns > 0 ? `, ${nsText(ns)} on the critical path` : calls > 0 ? `, ${nsText(calls)} on the critical path in what it calls` : ""}`,
              on: { click: () => (list.focus({ preventScroll: true }), choose(s.line === line ? -1 : line)) } }
          : { class: "te-core-line", role: "presentation" }, number, code, bar, time);
        if (issued) options.push({ node, line });
        all.push({ node, line });
        list.append(node);
      });
    }
    mark();
  }
  function choose(line) {
    s.setLine(line);
  }
  function mark() {
    const pickedAt = s.picked >= 0 ? s.film.rows_instruction[s.picked] : -1;
    const hoveredAt = s.hover.row >= 0 ? s.film.rows_instruction[s.hover.row] : -1;
    const issued = (at, line) => at >= 0 && line >= 0 && s.book.i_line[at] === line;
    const calls = (at, line) => at >= 0 && line >= 0 && s.book.i_call[at] === line;
    let current = null;
    for (const { node, line } of all) {
      const chosen = line >= 0 && (line === s.line || issued(pickedAt, line));
      const near = issued(hoveredAt, line) || calls(hoveredAt, line) || calls(pickedAt, line);
      node.classList.toggle("te-core-on", chosen);
      node.classList.toggle("te-core-near", near && !chosen);
      if (line >= 0) node.setAttribute("aria-selected", String(chosen));
      if (chosen || (near && !current)) current = node;
    }
    if (current && list.scrollHeight > list.clientHeight) {
      const top = current.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 24) list.scrollTop = top - list.clientHeight / 3;
    }
    if (s.line >= 0) list.setAttribute("aria-activedescendant", `${s.id}-line-${s.line}`);
    else list.removeAttribute("aria-activedescendant");
  }
  list.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") choose(-1);
    else if (way && options.length && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const at = options.findIndex((o) => o.line === s.line);
      choose(options[at < 0 ? (way > 0 ? 0 : options.length - 1) : Math.min(options.length - 1, Math.max(0, at + way))].line);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  /** A line of Python with its comments, strings and words set apart. */
  function coloured(text) {
    const parts = [];
    const pattern = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|for|in|if|else|elif|return|with|as|while|import|from|not|and|or|None|True|False|assert|raise)\b|(\b\d[\d_.]*\b)/g;
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      if (match.index > last) parts.push(text.slice(last, match.index));
      const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "keyword" : "number";
      parts.push(make("span", { class: `te-core-${kind}` }, match[0]));
      last = match.index + match[0].length;
    }
    parts.push(text.slice(last) || (parts.length ? "" : " "));
    return parts;
  }
  return { element, layout, mark };
}
