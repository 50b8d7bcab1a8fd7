// A script on the chip as a film: its lines, and what host and chip do, moment by moment.

import { make, shape } from "./shared/elements.js";
import { onSize, shows } from "./shared/life.js";
import { Playback } from "./shared/playback.js";
import { wantsNoMotion } from "./shared/time.js";
import { line, rect, words } from "./shared/svg.js";

const PER_SECOND = 24;
const [LEFT, RIGHT, TOP, LANE, TALL] = [48, 12, 8, 46, 130];
const TRACKS = ["host", "chip"];
const KINDS = {
  recorded: "records",
  loader: "loads",
  transfer: "copies",
  waits: "waits",
  step: "computes",
  value: "computes a value",
  fallback: "computes for the CPU",
};

/** The lines that the host records before a mark, and when: evenly, until it waits for the chip. */
function walkTo({ line: to, begin_us }, before, loops, spans) {
  const from =
    before && before.line < to ? before.line + 1 : Math.max(...loops.filter((n) => n < to));
  const begin = before ? before.begin_us : 0;
  const isWait = (span) => span.kind === "waits" && Math.abs(span.end_us - begin_us) < 1e-6;
  return { from, to, begin, end: spans.find(isWait)?.begin_us ?? begin_us };
}
const lineAt = ({ from, to, begin, end }, now) =>
  from + Math.floor(((now - begin) / (end - begin)) * (to - from + 1));

class ScriptFilm {
  constructor(model, el) {
    this.film = model.get("film"); // { lines, first, spans, end_us, ticks, frames, label, plays }
    this.build();
    el.append(this.root);
    this.stops = [onSize(() => this.layout(), this.picture.parentElement)];
    if (this.film.plays && !wantsNoMotion()) this.player.begin();
    else this.player.seek(this.film.frames); // all of it, to look at
  }
  build() {
    const { film } = this;
    const loops = film.lines.flatMap((text, k) => (/^\s*for /.test(text) ? film.first + k : []));
    const marks = film.spans.filter((span) => span.line);
    this.walks = marks.map((mark, k) => walkTo(mark, marks[k - 1], loops, film.spans));
    const legend = Object.entries(KINDS)
      .filter(([kind]) => kind === "recorded" || film.spans.some((span) => span.kind === kind))
      .map(([kind, text]) => make("span", `te-sf-key te-sf-${kind}`, text));
    this.rows = film.lines.map((text, k) =>
      make("li", { value: film.first + k }, make("code", {}, text || " ")),
    );
    this.picture = shape("svg", { height: TALL, role: "img", "aria-label": film.label });
    this.told = make("div", "te-sf-told");
    const describe = (frame) => `${this.time(frame).toFixed(0)} µs`;
    const pace = { framesPerSecond: PER_SECOND, describe };
    const draw = (position) => this.draw(position);
    this.player = new Playback(film.label, film.frames, draw, pace);
    const named = { class: "te-sf-lines", "aria-label": "the loop of the script" };
    const side = make("div", "te-sf-side", this.picture, ...legend, this.told);
    const both = make("div", "te-sf-both", make("ol", named, ...this.rows), side);
    const look = { class: "te te-sf", "data-lm-suppress-shortcuts": "true" };
    this.root = make("div", look, this.player.element, both);
  }
  time(position) {
    return (position / (this.film.frames - 1)) * this.film.end_us;
  }
  x(us) {
    return LEFT + (us / this.film.end_us) * (this.width - LEFT - RIGHT);
  }
  layout() {
    this.width = Math.max(260, this.picture.parentElement.clientWidth);
    this.picture.setAttribute("width", this.width);
    const bottom = TOP + TRACKS.length * LANE;
    const parts = TRACKS.map((name, k) =>
      words(LEFT - 6, TOP + LANE * k + 24, name, "te-small", "end"),
    );
    for (const us of this.film.ticks) {
      parts.push(line(this.x(us), TOP, this.x(us), bottom, "te-grid"));
      parts.push(words(this.x(us), bottom + 15, us.toFixed(0), "te-small", "middle"));
    }
    parts.push(words(this.width - RIGHT, bottom + 29, "µs", "te-small", "end"));
    this.bars = this.film.spans.map((span) => this.bar(span, parts));
    this.cursor = line(0, TOP - 4, 0, bottom + 2, "te-sf-cursor");
    this.picture.replaceChildren(...parts, this.cursor);
    this.player.refresh();
  }
  /** Add a span's bar, and its letter where there is room. */
  bar({ begin_us, end_us, track, kind, letter, words: said }, parts) {
    const [x, y] = [this.x(begin_us), TOP + LANE * TRACKS.indexOf(track) + 4];
    const wide = Math.max(this.x(end_us) - x - 1, 1.5);
    const bar = rect(x, y, wide, LANE - 14, `te-sf-bar te-sf-${kind}`);
    bar.append(shape("title", {}, said));
    parts.push(bar);
    if (letter && wide > 14) {
      parts.push(words(x + wide / 2, y + LANE / 2 - 3, letter, "te-sf-letter", "middle"));
    }
    return bar;
  }
  draw(position) {
    if (!this.bars) return;
    const now = this.time(position);
    const at = this.x(now);
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
    let newest = null;
    this.film.spans.forEach((span, k) => {
      this.bars[k].classList.toggle("te-sf-later", span.begin_us > now);
      const isNewer = !newest || span.begin_us >= newest.begin_us;
      if (span.begin_us <= now + 1e-6 && span.line && isNewer) newest = span;
    });
    const walk = this.walks.find(({ begin, end }) => now >= begin && now < end);
    const lit = walk ? lineAt(walk, now) : newest?.line;
    const kind = walk ? "recorded" : newest?.kind;
    this.rows.forEach((row, k) => {
      row.className = lit === this.film.first + k ? `te-sf-on te-sf-${kind}` : "";
    });
    this.told.textContent = newest ? newest.words : "The script has marked nothing yet.";
  }
}

export default shows(ScriptFilm);
