// Words about one instruction, one piece of the critical path, one tile, or the whole run.
// Everything said here was worked out in Python.

import { fact, focusable, make, swatch } from "../shared/elements.js";
import { pieceColour } from "./critical_path.js";
import { siteColour } from "./memory_map.js";
import { bytesText, momentText, nsText, percent } from "../shared/words.js";

const KINDS = { documented: "▣", derived: "ƒ", measured: "◷", assumed: "≈" };

const div = (css, ...children) => make("div", `te-core-${css}`, ...children);
const span = (...children) => make("span", {}, ...children);
const bold = (text) => make("b", {}, text);
const badge = (kind) =>
  make("span", `te-core-kind te-core-${kind}`, `${KINDS[kind] ?? ""} ${kind}`);
const place = (line) => [
  div("where", `${line.file}:${line.line} in ${line.function}`),
  ...(line.text ? [make("code", {}, line.text)] : []),
];

/** An instruction: where it comes from, its operands, its time and what it waited for. */
export function instructionCard(s, r, { isFull = false, isIdle = false } = {}) {
  const { film, book } = s;
  const i = film.rows_instruction[r];
  const [engine, key] = film.tracks[film.rows_lane[r]];
  const length = film.rows_end[r] - film.rows_start[r];
  const on = ` on ${key === "dma" ? "DMA" : engine}, number ${i}`;
  const line = book.lines[book.i_line[i]];
  return [
    ...(isIdle ? [div("where", `The ${engine} stands still; next comes`)] : []),
    div("name", swatch(s.colourOf(key)), bold(s.nameOf(r)), on),
    ...(line ? place(line) : []),
    fact("time", bold(nsText(length)), ` from ${momentText(film.rows_start[r], length * 20)}`),
    ...operandFacts(book, i, length, key),
    ...waitFacts(s, r),
    ...(isFull ? [] : pathFacts(film, r)),
  ];
}

function operandFacts(book, i, ns, key) {
  const operands = (book.operands[book.i_text[i]] ?? []).map(([role, name, what, writes]) =>
    fact(`${role}${writes ? " ←" : ""}`, bold(name), ` ${what}`),
  );
  const options = book.options[book.i_option[i]];
  const [bytes, flops] = [book.i_bytes[i], book.i_flops[i]];
  const rate = key === "dma" && ns ? `, ${(bytes / ns).toPrecision(3)} GB/s` : "";
  const speed = `${(flops / ns / 1e3).toPrecision(3)} TFLOPS`;
  if (options) operands.push(fact("with", options));
  if (bytes) operands.push(fact("bytes", bytesText(bytes), rate));
  if (flops) operands.push(fact("work", `${(flops / 1e6).toPrecision(3)} MFLOP, ${speed}`));
  return operands;
}

function waitFacts({ film, nameOf }, r) {
  const waits = film.waitsOf.of(r).map((w) => {
    const [ns, on] = [film.waits_ns[w], film.waits_on[w]];
    const who = on < 0 ? "" : ` (${nameOf(on)} ${film.rows_instruction[on]})`;
    const why = film.reasons[film.waits_reason[w]].text + who;
    return ns < 0 ? fact("held by", why) : fact("waited", bold(nsText(ns)), ": ", why);
  });
  return waits.length ? waits : [fact("waited", "for nothing")];
}

function pathFacts(film, r) {
  if (!film.path.start.length) return [];
  const pieces = film.piecesOf.of(r);
  const ns = pieces.reduce((sum, p) => sum + film.pieces_end[p] - film.pieces_start[p], 0);
  const off = "not on the critical path: faster here would change nothing";
  return [fact("path", pieces.length ? `${nsText(ns)} of it on the critical path` : off)];
}

/** Why a piece of the critical path is as long as it is: every fact with its kind and source. */
export function pieceCard(s, p) {
  const { film } = s;
  const what = film.whats[film.pieces_what[p]];
  const length = film.pieces_end[p] - film.pieces_start[p];
  const row = film.pieces_row[p];
  const name = ` ${what.name}${what.text === what.name ? "" : `: ${what.text}`}`;
  const share = `${percent(length / film.makespan)} of ${nsText(film.makespan)}`;
  return [
    div("name", swatch(pieceColour(s, p)), bold(nsText(length)), name),
    fact("of", bold(s.nameOf(row)), ` ${film.rows_instruction[row]}`),
    fact("share", `${share}; all pieces add up to it`),
    fact("after it", film.thens[film.pieces_then[p]]),
    fact("known how", badge(film.kinds[film.pieces_kind[p]])),
    ...(film.facts[film.pieces_facts[p]] ?? []).map(sourceOf),
  ];
}

function sourceOf({ value, name, kind, source, url, note }) {
  const out = { href: url, target: "_blank", rel: "noopener" };
  const who = url ? make("a", { ...focusable(`Source: ${source}`), ...out }, source) : source;
  const said = make("div", {}, bold(value), ` ${name} `, badge(kind));
  return div("source", said, div("where", who, note ? ` (${note})` : ""));
}

/** What is said when no piece of the path is an instruction's. */
export const offPathCard = () => [
  div("name", "Not on the critical path"),
  make("div", {}, "If it were faster, the run would take as long as before."),
];

/** A tile: who made it, how large it is, where it lies and for how long. */
export function tileCard({ film, book, nameOf }, i) {
  const allocation = book.allocations[film.tiles_allocation[i]];
  const { partitions, slots } = allocation;
  const { banks, capacity } = film.memories[film.tiles_memory[i]];
  const [bytes, address] = [film.tiles_bytes[i], film.tiles_address[i]];
  const bank = banks ? `, bank ${Math.floor(address / (capacity / banks))}` : "";
  const line = book.lines[allocation.line];
  const at = (t, row) => `${momentText(t, 1e4)}${row >= 0 ? `, ${nameOf(row)}` : ""}`;
  const each = `${bytesText(bytes)} of each of ${partitions} partitions`;
  return [
    div("name", swatch(siteColour(allocation)), bold(allocation.name), ` ${allocation.text}`),
    ...(line ? place(line) : []),
    fact("bytes", `${each}, ${bytesText(bytes * partitions)} in all`),
    fact("place", `byte ${address}${bank}, slot ${film.tiles_slot[i]} of ${slots ?? 1}`),
    fact("first", at(film.tiles_start[i], film.tiles_first_row[i])),
    fact("last", at(film.tiles_end[i], film.tiles_last_row[i])),
  ];
}

/** The whole run: a few numbers, and where the time goes. */
export function wholeCard({ film, panels }) {
  const rows = panels.includes("timeline") ? film.summary : film.sites;
  const facts = (rows ?? []).map(([name, value]) => fact(name, value));
  if (!panels.includes("timeline") || !film.causes?.length) return facts;
  const title = div("name te-core-gap", "Where the time goes, along the critical path");
  return [...facts, title, bars(film.causes)];
}

function bars(causes) {
  const most = Math.max(...causes.map((cause) => cause.share), 1e-9);
  const rows = causes.map(({ name, share, ns, colour, work }) => {
    const style = `width:${((100 * share) / most).toFixed(1)}%;--bar:${colour}`;
    const bar = make("i", { class: work ? "" : "te-core-hatch", style });
    const track = make("span", "te-core-bar", bar);
    return [span(name), track, span(percent(share)), span(nsText(ns))];
  });
  return div("bars", ...rows.flat());
}

/** What the time rests on: documented, derived, measured, assumed. */
export function certaintyCard({ film, panels }) {
  if (!panels.includes("timeline") || !film.shares?.length) return [];
  const shares = film.shares.map(({ kind, share }) => span(badge(kind), ` ${percent(share)}`));
  const how = "Click a piece of the critical path to see its facts and who says so.";
  return [
    div("name", "What this prediction rests on"),
    div("shares te-row", ...shares),
    div("where", how),
  ];
}
