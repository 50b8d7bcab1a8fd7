// What the collective player says: pure.

import { bytesText, chipName, listed, many, nsText } from "../shared/words.js";

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

export const wireName = (film, wire) => `link ${film.ends(wire).join(" – ")}`;

function chunkText(film, m) {
  const chunks = film.chunksOf(m);
  return chunks.length > 1 ? `chunks ${listed([...chunks], 4)}` : `chunk ${chunks[0]}`;
}

const verb = (film, m) => (film.msg_adds[m] ? "adds it" : "keeps it");

/** What happens at a position. */
export function sentence(film, position) {
  if (position >= film.steps) {
    return `All ${film.steps} steps done after ${nsText(film.total)}. ${film.ending}`;
  }
  const s = film.stepAt(position);
  const ids = film.byStep[s];
  const note = film.step_notes[s] ? ` (${film.step_notes[s]})` : "";
  const begin = Number.isInteger(position) ? "Next, step" : "Step";
  const head = `${begin} ${s + 1} of ${film.steps}${note}: `;
  const [from, to] = [s, s + 1].map((step) => nsText(film.step_ns[step] - film.begin));
  const when = ` · ${from} → ${to}`;
  if (!ids.length) return `${head}no messages${when}`;
  const m = ids.find((id) => film.pathOf(id).length) ?? ids[0];
  const what = `${chunkText(film, m)} (${bytesText(film.msg_bytes[m])})`;
  const [src, dst] = [film.msg_src[m], film.msg_dst[m]];
  const message = `Rank ${src} sends ${what} to rank ${dst}, which ${verb(film, m)}`;
  return `${head}${many(ids.length, "message")}. ${message}${when}`;
}

/** Lists of more than six parts, cut short. */
const joined = (parts) =>
  parts.length > 6
    ? `${parts.slice(0, 5).join("; ")}; and ${parts.length - 5} more`
    : parts.join("; ");

/** The history of a chip: { head, sum, rows: [[step, text], ...] }. */
export function chipStory(film, chip, done) {
  const ranks = film.ranksOf(chip);
  const isMany = film.ranks_per_chip > 1;
  const rows = [];
  let sent = 0;
  let received = 0;
  film.byStep.forEach((ids, step) => {
    const parts = [];
    for (const m of ids) {
      const [src, dst] = [film.msg_src[m], film.msg_dst[m]];
      const what = chunkText(film, m);
      if (ranks.includes(src)) {
        sent += film.msg_bytes[m];
        parts.push(`${isMany ? `rank ${src} ` : ""}sends ${what} to rank ${dst}`);
      }
      if (ranks.includes(dst)) {
        received += film.msg_bytes[m];
        const who = isMany ? `rank ${dst} ` : "";
        parts.push(`${who}gets ${what} from rank ${src} and ${verb(film, m)}`);
      }
    }
    if (parts.length) rows.push([step, joined(parts)]);
  });
  let finished = 0;
  for (const rank of ranks) {
    for (let c = 0; c < film.chunks; c++) finished += film.held(done, rank, c) === film.full;
  }
  const now = `holds ${many(finished, "finished chunk")} now`;
  const sum = `Sends ${bytesText(sent)} and receives ${bytesText(received)} in all; ${now}.`;
  return { head: `${capital(chipName(chip, film.ranks_per_chip))}.`, sum, rows };
}

/** The history of a wire, both ways: { head, sum, rows }. */
export function wireStory(film, wire) {
  const ways = film.linksOn(wire).map((k) => {
    const { from, to } = film.link(k);
    return { k, name: `${from} → ${to}` };
  });
  const sums = ways.map(({ k, name }) => {
    let bytes = 0;
    let busy = 0;
    for (let s = 0; s < film.steps; s++) {
      bytes += film.link_bytes[s * film.linkCount + k];
      busy += film.load(s, k) * (film.step_ns[s + 1] - film.step_ns[s]);
    }
    const share = ((100 * busy) / (film.total || 1)).toFixed(0);
    return `${name} carries ${bytesText(bytes)}, busy ${share} % of the time`;
  });
  const rows = film.byStep.flatMap((all, step) => {
    const parts = ways.flatMap(({ k, name }) => {
      const ids = all.filter((m) => film.pathOf(m).includes(k));
      const shown = ids.slice(0, 3).map((m) => chunkText(film, m));
      const more = ids.length > 3 ? ` and ${ids.length - 3} more messages` : "";
      return ids.length ? [`${name} ${shown.join(", ")}${more}`] : [];
    });
    return parts.length ? [[step, parts.join("; ")]] : [];
  });
  return { head: `${capital(wireName(film, wire))}.`, sum: `${sums.join("; ")}.`, rows };
}
