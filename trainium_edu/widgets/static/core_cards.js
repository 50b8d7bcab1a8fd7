// Words about one instruction, one piece of the critical path, one tile, or the whole run.
// Joined behind core_time.js; everything said here was worked out in Python.

const KINDS = { documented: "▣", derived: "ƒ", measured: "◷", assumed: "≈" };

function createCards(s) {
  const row = (name, ...value) => make("div", { class: "te-core-fact" }, make("span", {}, name), make("span", {}, ...value));
  const badge = (kind) => make("span", { class: `te-core-kind te-core-${kind}` }, `${KINDS[kind] ?? ""} ${kind}`);
  const swatch = (colour) => make("i", { style: `background:${colour}` });

  function instruction(r, full, idle = false) {
    const { film, book } = s;
    const i = film.rows_instruction[r];
    const [engine, key] = film.tracks[film.rows_lane[r]];
    const parts = [...(idle ? [make("div", { class: "te-core-where" }, `The ${engine} stands still; next comes`)] : []), make("div", { class: "te-core-name" }, swatch(s.colours[key] ?? s.colours.sync), make("b", {}, s.nameOf(r)), ` on ${key === "dma" ? "DMA" : engine}${book && i >= 0 ? `, number ${i}` : ""}`)];
    const line = book && i >= 0 ? book.lines[book.i_line[i]] : null;
    if (line) {
      parts.push(make("div", { class: "te-core-where" }, `${line.file}:${line.line} in ${line.function}`));
      if (line.text) parts.push(make("code", {}, line.text));
    }
    const length = film.rows_end[r] - film.rows_start[r];
    parts.push(row("time", make("b", {}, nsText(length)), ` from ${momentText(film.rows_start[r], length * 20)}`));
    if (book && i >= 0) {
      for (const operand of book.operands[book.i_text[i]] ?? []) {
        const [role, name, what, writes] = operand;
        parts.push(row(`${role}${writes ? " ←" : ""}`, make("b", {}, name), ` ${what}`));
      }
      if (book.options[book.i_option[i]]) parts.push(row("with", book.options[book.i_option[i]]));
      if (book.i_bytes[i]) parts.push(row("bytes", bytesText(book.i_bytes[i]), key === "dma" && length ? `, ${(book.i_bytes[i] / length).toPrecision(3)} GB/s` : ""));
      if (book.i_flops[i]) parts.push(row("work", `${(book.i_flops[i] / 1e6).toPrecision(3)} MFLOP, ${(book.i_flops[i] / length / 1e3).toPrecision(3)} TFLOPS`));
    }
    const waits = film.waitsOf.of(r);
    for (const w of waits) {
      const on = film.waits_on[w];
      const reason = film.reasons[film.waits_reason[w]];
      const ns = film.waits_ns[w];
      parts.push(row(ns < 0 ? "held by" : "waited", ...(ns < 0 ? [] : [make("b", {}, nsText(ns)), ": "]), reason.text, on >= 0 ? ` (${s.nameOf(on)}${book ? ` ${film.rows_instruction[on]}` : ""})` : ""));
    }
    if (book && !waits.length && film.knowsWaits) parts.push(row("waited", "for nothing"));
    const pieces = film.piecesOf.of(r);
    if (pieces.length && !full) parts.push(row("path", `${nsText(pieces.reduce((sum, p) => sum + film.pieces_end[p] - film.pieces_start[p], 0))} of it on the critical path`));
    else if (film.pieces_start.length && !full) parts.push(row("path", "not on the critical path: faster here would change nothing"));
    return parts;
  }

  /** Why a piece of the critical path is as long as it is: every fact with its kind and source. */
  function piece(p) {
    const { film } = s;
    const what = film.whats[film.pieces_what[p]];
    const length = film.pieces_end[p] - film.pieces_start[p];
    const facts = film.facts[film.pieces_facts[p]] ?? [];
    return [
      make("div", { class: "te-core-name" }, swatch(s.pieceColour(p)), make("b", {}, nsText(length)), ` ${what.name}${what.text === what.name ? "" : `: ${what.text}`}`),
      row("of", make("b", {}, s.nameOf(film.pieces_row[p])), s.book ? ` ${film.rows_instruction[film.pieces_row[p]]}` : ""),
      row("share", `${percent(length / film.makespan)} of ${nsText(film.makespan)}; all pieces add up to it`),
      row("after it", film.thens[film.pieces_then[p]]),
      row("known how", badge(film.kinds[film.pieces_kind[p]])),
      ...facts.map((fact) => make("div", { class: "te-core-source" },
        make("div", {}, make("b", {}, fact.value), ` ${fact.name} `, badge(fact.kind)),
        make("div", { class: "te-core-where" }, fact.url
          ? make("a", { ...focusable(`Source: ${fact.source}`), href: fact.url, target: "_blank", rel: "noopener" }, fact.source)
          : fact.source, fact.note ? ` (${fact.note})` : ""))),
    ];
  }

  function tile(i) {
    const { film, book } = s;
    const a = book.allocations[film.tiles_allocation[i]];
    const memory = film.memories[film.tiles_memory[i]];
    const bank = memory.capacity / (memory.banks || 1);
    const first = film.tiles_first_row[i], last = film.tiles_last_row[i];
    const address = film.tiles_address[i];
    const line = book.lines[a.line];
    return [
      make("div", { class: "te-core-name" }, swatch(SITE_COLOURS[a.site % SITE_COLOURS.length]), make("b", {}, a.name), ` ${a.text}`),
      ...(line ? [make("div", { class: "te-core-where" }, `${line.file}:${line.line} in ${line.function}`), ...(line.text ? [make("code", {}, line.text)] : [])] : []),
      row("bytes", `${bytesText(film.tiles_bytes[i])} of each of ${a.partitions} partitions, ${bytesText(film.tiles_bytes[i] * a.partitions)} in all`),
      row("place", `byte ${address}${memory.banks ? `, bank ${Math.floor(address / bank)}` : ""}, slot ${film.tiles_slot[i]} of ${a.slots ?? 1}`),
      row("first", `${momentText(film.tiles_start[i], 1e4)}${first >= 0 ? `, ${s.nameOf(first)}` : ""}`),
      row("last", `${momentText(film.tiles_end[i], 1e4)}${last >= 0 ? `, ${s.nameOf(last)}` : ""}`),
    ];
  }

  function whole() {
    const { film } = s;
    if (!s.panels.includes("timeline")) return film.sites.map(([name, value]) => row(name, value));
    return [
      ...(film.summary ?? []).map(([name, value]) => row(name, value)),
      ...(film.causes?.length ? [make("div", { class: "te-core-name te-core-gap" }, "Where the time goes, along the critical path"), bars(film.causes)] : []),
    ];
  }
  /** Bars of shares, each with its number. */
  function bars(list) {
    const most = Math.max(...list.map((b) => b.share), 1e-9);
    return make("div", { class: "te-core-bars" }, ...list.flatMap(({ name, share, ns, colour, work }) => [
      make("span", {}, name),
      make("span", { class: "te-core-bar" }, make("i", { class: work ? "" : "te-core-hatch", style: `width:${((100 * share) / most).toFixed(1)}%;--bar:${colour}` })),
      make("span", {}, `${percent(share)}`),
      make("span", {}, nsText(ns)),
    ]));
  }
  function kinds() {
    const { film } = s;
    if (!s.panels.includes("timeline")) return [];
    return film.shares?.length
      ? [make("div", { class: "te-core-name" }, "What this prediction rests on"),
         make("div", { class: "te-core-shares" }, ...film.shares.map(({ kind, share }) => make("span", {}, badge(kind), ` ${percent(share)}`))),
         make("div", { class: "te-core-where" }, "Click a piece of the critical path to see its facts and who says so.")]
      : [];
  }
  return { instruction, piece, tile, whole, kinds };
}
