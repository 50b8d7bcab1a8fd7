// The last throw bit by bit: the dropped bits plus 16 random bits; a carry reaches the kept part.

import { make } from "../shared/elements.js";
import { addRandomBits, bits16, leadingBits } from "./carry.js";

const CAPTION = "How the dice decide: add random bits to what is dropped, then cut";
const FIELDS = ["sign", "exponent", "mantissa"];

function row(name, kept, low, note, cut = "") {
  const fields = [kept[0], kept.slice(1, 9), kept.slice(9)].map((bits, i) =>
    make("span", `te-${FIELDS[i]}`, bits ?? ""),
  );
  const head = [make("th", { scope: "row" }, name), make("td", "te-re-kept", ...fields)];
  const added = [make("td", `te-re-low ${cut}`, low), make("td", "te-re-note", note)];
  return make("tr", {}, ...head, ...added);
}

function history({ n, random_bits: words, went_up: wentUp }) {
  if (words.length < 2) return "";
  const which = n > 10 ? "first ten of the last" : "last";
  const signs = wentUp.map((up) =>
    make("span", { class: up ? "te-re-went-up" : "te-hint" }, up ? "▲ " : "▽ "),
  );
  return make("div", "te-re-history", `The ${which} throws: `, ...signs);
}

/** Return the parts of the table for x at a place and the throws there. */
export function bitTable(gap, place, tally) {
  const { dropped_bits: drop, kept, kept_up: keptUp } = gap;
  const lead = leadingBits(place, gap);
  const rest = drop > 16 ? "; the first 16 count" : drop < 16 ? `, and ${16 - drop} zeros` : "";
  const rows = [row("x in FP32", kept, lead, `${drop} bits too many${rest}`)];
  if (tally.random_bits.length) {
    const word = tally.random_bits.at(-1);
    const { bits, carries } = addRandomBits(lead, word);
    const note = carries
      ? `a carry: up to ${gap.upper_text}`
      : `no carry: down to ${gap.lower_text}`;
    rows.push(row("+ toss", "", bits16(word), "16 random bits"));
    rows.push(row("= sum", carries ? keptUp : kept, bits, note, "te-re-cut"));
  }
  const caption = make("div", "te-re-caption", CAPTION);
  return [caption, make("table", {}, make("tbody", {}, ...rows)), history(tally)];
}
