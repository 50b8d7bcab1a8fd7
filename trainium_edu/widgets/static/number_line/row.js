// One format on the number line: its numbers around x, the gap that x lies in, where x lands.
//
// A row's numbers arrive as pieces [first, last, spacing, count]: evenly spaced runs, as the
// numbers of one binade are.  Runs without a spacing, and those of numbers that are closer than 3.2
// pixels, become a band.

import { button, make, shape } from "../shared/elements.js";
import { anchorAt, line, path, rect, words } from "../shared/svg.js";
import { minus, plain } from "../shared/words.js";

const HEIGHT = 58;
const BASE = 30;

class RowPicture {
  /** `at(value)` is a value's place in pixels, `pixels` those of a unit. */
  constructor(row, width, at, pixels) {
    Object.assign(this, { row, width, at, pixels });
    this.svg = shape("svg", { class: "te-nl-line", height: HEIGHT, "aria-hidden": "true", width });
    this.needle = shape("line", { y1: 0, y2: HEIGHT, class: "te-nl-xline" });
    this.drawBeyond();
    this.svg.append(line(0, BASE, width, BASE, "te-nl-base"));
    this.drawGap();
    this.drawNumbers();
    this.drawNeighbours();
    this.svg.append(this.needle);
    this.drawLanding();
  }
  /** The part of a stretch of numbers that is on the page, in pixels. */
  visible(from, to) {
    return [Math.max(0, this.at(from)), Math.min(this.width, this.at(to))];
  }
  write(x, text, kind = "te-nl-small", anchor = anchorAt(x, this.width, 24)) {
    this.svg.append(words(x, BASE + 19, text, kind, anchor));
  }
  /** Where there are no numbers any more. */
  drawBeyond() {
    for (const [from, to] of this.row.beyond) {
      const [a, b] = this.visible(from, to);
      if (b <= a) continue;
      this.svg.append(rect(a, BASE - 20, b - a, 28, "te-nl-beyond"));
      if (b - a > 130) this.write((a + b) / 2, this.row.beyond_text, "te-nl-small", "middle");
    }
  }
  drawGap() {
    const { below, above } = this.row;
    if (below === null || above === null || above <= below) return;
    const [a, b] = this.visible(below, above);
    if (b - a > 1) this.svg.append(rect(a, BASE - 18, b - a, 18, "te-nl-gap"));
  }
  drawNumbers() {
    const { row, width } = this;
    const labels = [];
    let ticks = "";
    let banded = 0;
    for (const [first, last, spacing, count] of row.pieces) {
      if (spacing * this.pixels < 3.2) {
        const [a, b] = this.visible(first, last);
        banded += Math.max(1, b - a);
        this.svg.append(rect(a, BASE - 12, Math.max(1, b - a), 17, "te-nl-band"));
        continue;
      }
      for (let k = 0; k < count; k++) {
        const value = first + k * spacing;
        const x = this.at(value);
        if (x < -1 || x > width + 1) continue;
        ticks += `M${x.toFixed(1)},${BASE - 12}V${BASE + 5}`;
        if (row.labelled && spacing * this.pixels > 46) labels.push([x, value]);
      }
    }
    if (ticks) this.svg.append(path(ticks, "te-nl-ticks"));
    const own = [row.below, row.above, row.value].filter((value) => value !== null).map(this.at);
    for (const [x, value] of labels) {
      if (own.every((o) => Math.abs(o - x) >= 40)) this.write(x, minus(plain(value, 7)));
    }
    if (banded > width * 0.6 && row.band_text) {
      this.write(width - 4, row.band_text, "te-nl-small", "end");
    }
  }
  /** The two numbers beside x, with their values where there is room. */
  drawNeighbours() {
    const { row, width } = this;
    const [a, b] = [row.below, row.above].map((v) => (v === null ? null : this.at(v)));
    const hasRoom = a !== null && b !== null && (b - a > 12 || a === b);
    const isCrowded = b - a < 70 && a !== b;
    const sides = [
      [a, row.below_text, "end", -2],
      [b, row.above_text, "start", 2],
    ];
    for (const [x, text, outwards, shift] of a !== null && a === b ? [sides[0]] : sides) {
      if (x === null || x < -2 || x > width + 2) continue;
      this.svg.append(line(x, BASE - 18, x, BASE + 7, "te-nl-near"));
      if (!hasRoom) continue;
      if (isCrowded) this.write(x + shift, text, "te-nl-neartext", outwards);
      else this.write(x, text, "te-nl-neartext");
    }
  }
  /** From x to the number that stands for it, or out of the picture. */
  drawLanding() {
    const { row, width } = this;
    const from = this.at(row.x);
    if (row.value !== null) {
      const to = this.at(row.value);
      const tip = Math.max(-8, Math.min(width + 8, to));
      const bow = `M${from},${BASE - 22} Q${(from + tip) / 2},${BASE - 34} ${tip},${BASE - 9}`;
      if (Math.abs(to - from) > 2) this.svg.append(path(bow, "te-nl-arrow"));
      if (to <= -6 || to >= width + 6) return;
      this.svg.append(shape("circle", { cx: to, cy: BASE, r: 5.5, class: "te-nl-dot" }));
    } else if (row.way) {
      const back = 8 * row.way;
      const head = `m${-back},-5 l${back},5 l${-back},5`;
      const tip = row.way > 0 ? width - 8 : 8;
      this.svg.append(path(`M${from},${BASE - 14} H${tip} ${head}`, "te-nl-arrow"));
    }
  }
}

/** Draw a row; returns its element and the line that marks x in it. */
export function drawRow(row, format, { width, at, pixels, closer }) {
  const picture = new RowPicture(row, width, at, pixels);
  const bits = row.bits.map(([kind, text]) => make("b", `te-${kind}`, text));
  const about = "sign, exponent, mantissa bits of the number x lands on";
  const name = `Zoom until the numbers of ${format.label} stand apart`;
  const zoom = () => button(name, "zoom to its numbers", closer, { class: "te-nl-zoom" });
  const lands = [row.before, " ", make("strong", {}, row.lands), " ", row.error];
  const head = make(
    "div",
    "te-nl-text",
    make("span", { class: "te-nl-name", title: format.about }, make("i"), " ", format.label),
    make("span", { class: "te-nl-bits", title: about, "aria-hidden": "true" }, ...bits),
    make("span", "te-nl-lands", ...lands),
    make("span", "te-nl-spacing", row.near),
    row.can_zoom ? zoom() : "",
  );
  const look = { class: "te-nl-row", style: `--c:${format.colour}`, "aria-label": row.sentence };
  return { element: make("section", look, head, picture.svg), needle: picture.needle };
}
