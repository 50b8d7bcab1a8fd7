// What stands above and below the pictures: how long the run takes, the legend, what is picked.

import { make, swatch } from "../shared/elements.js";
import * as cards from "./cards.js";
import { REASONS } from "./lane_spans.js";
import { nsText } from "../shared/words.js";

/** Say a makespan, and how it compares to the first one: [the number, the rest]. */
export function resultText({ makespan, band, note }, baseline) {
  const range = band ? ` (between ${nsText(band[0])} and ${nsText(band[1])})` : "";
  const change = makespan / baseline;
  const factor = (change < 1 ? 1 / change : change).toPrecision(3);
  const than = `${change < 1 ? "faster" : "slower"} than before, ${nsText(baseline)}`;
  const compared = Math.abs(change - 1) > 1e-9 ? `: ${factor} × ${than}` : "";
  return [nsText(makespan), `${range}${note ? `; ${note}` : ""}${compared}`];
}

export function showResult(element, film, baseline) {
  const [number, rest] = resultText(film, baseline);
  element.replaceChildren(...(film.refused ? [film.refused] : [make("b", {}, number), rest]));
  element.classList.toggle("te-core-refused", Boolean(film.refused));
}

/** Explain the colours of the waits that occur, and of the critical path. */
export function showLegend(element, film, tones) {
  const occurring = film.waits_reason.filter((_, i) => film.waits_ns[i] > 0);
  const reasons = [...new Set(occurring)].map((k) => film.reasons[k]);
  const waits = reasons.filter(({ style }) => style !== "queue");
  const items = new Map(
    waits.map(({ legend, style }) => [legend, `${REASONS[style] ?? REASONS.data};height:4px`]),
  );
  if (film.path.start.length) items.set("on the critical path", `${tones.ink};height:3px`);
  const entry = ([text, look]) => make("span", {}, swatch(look), text);
  element.replaceChildren(...[...items].map(entry));
}

/** Fill the two columns of details; return what a screen reader hears of them. */
export function showDetails(element, s) {
  const isPicked = s.tile >= 0 || s.picked >= 0;
  const columns = isPicked ? pickedCards(s) : [cards.wholeCard(s), cards.certaintyCard(s)];
  element.replaceChildren(...columns.map((column) => make("div", {}, ...column)));
  element.hidden = columns.every((column) => !column.length);
  if (!isPicked) return "";
  const said = element.querySelectorAll(".te-core-name, .te-core-where, .te-fact");
  return [...said].map((line) => line.textContent).join(". ");
}

function pickedCards(s) {
  if (s.tile >= 0) return [cards.tileCard(s, s.tile), []];
  const pieces = s.piece >= 0 ? [s.piece] : s.film.piecesOf.of(s.picked);
  const path = s.film.path.start.length ? cards.offPathCard() : [];
  const why = pieces.length ? pieces.flatMap((p) => cards.pieceCard(s, p)) : path;
  return [cards.instructionCard(s, s.picked, { isFull: true }), why];
}

/** What a tip says about what the pointer is on. */
export function tipOf(s, { row, piece, tile, idle }) {
  if (tile >= 0) return cards.tileCard(s, tile);
  if (piece >= 0) return cards.pieceCard(s, piece);
  return row >= 0 ? cards.instructionCard(s, row, { isIdle: idle }) : [];
}
