// The gap as a line: x on it, the odds and the counts as bars at its ends, throws in flight.

import { focusable, shape } from "../shared/elements.js";
import { anchorAt, line, path, rect, words } from "../shared/svg.js";
import { clamp, glide, wantsNoMotion } from "../shared/time.js";
import { percent, spaced, tidy } from "./words.js";

const LINE = 186;
const BAR = { high: 132, wide: 64 };
const FLIGHT = { lasts: 420, apart: 45 }; // milliseconds

export class Picture {
  constructor() {
    this.svg = shape("svg", { class: "te-re-stage", height: 262 });
    this.svg.setAttribute("aria-label", "a number between its neighbours, with the throws' counts");
    this.back = shape("g", { "aria-hidden": "true" });
    const slider = { class: "te-re-needle", tabindex: 0, role: "slider", "aria-valuemin": 0 };
    this.needle = shape("g", focusable("x between its two neighbours", slider));
    this.needle.removeAttribute("title");
    this.air = shape("g", { "aria-hidden": "true" });
    this.svg.append(this.back, this.needle, this.air);
    this.width = 300;
    this.stopFlight = () => {};
  }
  get margin() {
    return clamp(this.width * 0.14, 92, 150);
  }
  at(share) {
    return this.margin + share * (this.width - 2 * this.margin);
  }
  /** The share of the gap under a pointer. */
  shareAt(event) {
    const x = event.clientX - this.svg.getBoundingClientRect().left;
    return (x - this.margin) / (this.width - 2 * this.margin);
  }
  draw(width, gap, place, x, { n, up }) {
    this.width = width;
    this.svg.setAttribute("width", width);
    const [left, right] = [this.at(0), this.at(1)];
    const ticks = [1, 2, 3, 4, 5, 6, 7].map((k) => {
      const high = k === 4 ? 6 : 3;
      return line(this.at(k / 8), LINE - high, this.at(k / 8), LINE + high, "te-re-tick");
    });
    this.back.replaceChildren(
      ...this.bars(left, "down", 1 - x.p, n - up, n, gap.lower_text),
      ...this.bars(right, "up", x.p, up, n, gap.upper_text),
      line(left - 40, LINE, right + 40, LINE, "te-re-line"),
      ...ticks,
      ...(place ? this.nearest(x) : []),
      ...(n ? this.mean(this.at(up / n)) : []),
    );
    this.drawNeedle(gap, place, x);
  }
  bars(x, side, chance, count, n, text) {
    const bar = (share, kind) =>
      rect(x - BAR.wide / 2, LINE - BAR.high * share, BAR.wide, BAR.high * share, kind);
    const counted = n ? `${side}: ${spaced(count)} of ${spaced(n)}` : side;
    const exact = `exact ${percent(chance)}`;
    return [
      ...(n ? [bar(count / n, "te-re-count")] : []),
      bar(chance, "te-re-odds"),
      words(x, 16, counted, "te-re-strong", "middle"),
      words(x, 33, n ? `${percent(count / n)}; ${exact}` : exact, "te-re-text", "middle"),
      line(x, LINE - 7, x, LINE + 9, "te-re-end"),
      words(x, LINE + 27, text, "te-re-strong", "middle"),
    ];
  }
  /** The arrow to the neighbour that is always chosen without dice. */
  nearest({ p, goesUp }) {
    const here = this.at(p);
    const way = goesUp ? -1 : 1; // from its end back to x
    const end = this.at(goesUp ? 1 : 0) + way * (BAR.wide / 2 + 3);
    const y = LINE - 74;
    const head = `m${way * 9},-6l${-way * 9},6l${way * 9},6`;
    const tie = p === 0.5 ? " (a tie: to the even one)" : "";
    const text = `nearest-even: always ${goesUp ? "up" : "down"}${tie}`;
    const isInside = Math.abs(here - end) > 190;
    const x = isInside ? (here + end) / 2 : here + way * 8;
    const anchor = isInside ? "middle" : way < 0 ? "end" : "start";
    return [
      path(`M${here},${y}H${end}${head}`, "te-re-nearest"),
      words(x, y - 9, text, "te-re-nearesttext", anchor),
    ];
  }
  mean(x) {
    const [left, right] = [this.at(0), this.at(1)];
    const beside = BAR.wide / 2 + 6;
    const anchor = anchorAt(x - left, right - left, 100);
    const [start, end] = [Math.max(0, left + beside - x), Math.min(0, right - beside - x)];
    const shifts = { start, middle: 0, end };
    return [
      path(`M${x},${LINE - 9}l9,9l-9,9l-9,-9z`, "te-re-mean"),
      words(x + shifts[anchor], LINE - 17, "mean of the throws", "te-re-meantext", anchor),
    ];
  }
  drawNeedle(gap, place, { p, value }) {
    const here = this.at(p);
    const anchor = anchorAt(here - this.at(0), this.at(1) - this.at(0), 70);
    const text = `x = ${tidy(value)}`;
    this.needle.replaceChildren(
      path(`M${here},${LINE + 3}l9,15v16h-18v-16z`, "te-re-handle"),
      words(here, LINE + 54, text, "te-re-x", anchor),
    );
    this.needle.setAttribute("aria-valuemax", gap.ticks);
    this.needle.setAttribute("aria-valuenow", place);
    this.needle.setAttribute("aria-valuetext", `${text}; up with probability ${percent(p)}`);
  }
  /** Let a ball fly from x to where each throw went. */
  fly(p, wentUp) {
    this.stopFlight();
    if (wantsNoMotion() || !wentUp.length) return;
    const from = this.at(p);
    const all = FLIGHT.lasts + FLIGHT.apart * (wentUp.length - 1);
    this.stopFlight = glide(this.svg, all, (share) => {
      const balls = wentUp.flatMap((up, i) => {
        const t = (share * all - i * FLIGHT.apart) / FLIGHT.lasts;
        if (t < 0 || t >= 1) return [];
        const cx = from + (this.at(up ? 1 : 0) - from) * t;
        const cy = LINE - 10 - 320 * t * (1 - t);
        return [shape("circle", { cx, cy, r: 5, class: "te-re-ball" })];
      });
      this.air.replaceChildren(...balls);
    });
  }
}
