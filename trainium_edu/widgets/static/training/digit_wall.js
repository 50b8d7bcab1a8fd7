// A wall of digits on a canvas: filled where the network misreads one, flashing when it turns
// right.

import { cleared, fitCanvas, frame as outline, pageIsDark } from "../shared/canvas.js";
import { focusable, make } from "../shared/elements.js";
import { ARROWS, isPlain, take } from "../shared/keys.js";
import { clamp } from "../shared/time.js";

const PER_ROW = 36;
const MISREAD = "213, 94, 0";
const TURNED = "0, 114, 178";
const NAME = "The test images, sorted by digit; arrow keys choose one";

const cornerOf = (i, side) => [side * (i % PER_ROW), side * Math.floor(i / PER_ROW)];

/** The digits in one grey on nothing, an 8 × 8 cell each. */
function digitSheet(images, count, tone) {
  const canvas = make("canvas", { width: 8 * PER_ROW, height: 8 * Math.ceil(count / PER_ROW) });
  const pen = canvas.getContext("2d");
  for (let i = 0; i < count; i++) {
    const data = new ImageData(8, 8);
    for (let p = 0; p < 64; p++) data.data.set([tone, tone, tone, images[64 * i + p]], 4 * p);
    pen.putImageData(data, ...cornerOf(i, 8));
  }
  return canvas;
}

export class DigitWall {
  /** `describe(null)` or `describe({ frame, label, read, settled })` gives the sentence below. */
  constructor({ images, count, describe }) {
    Object.assign(this, { count, describe, guesses: null, position: 0, chosen: -1 });
    this.rows = Math.ceil(count / PER_ROW);
    this.sheets = { black: digitSheet(images, count, 0), white: digitSheet(images, count, 255) };
    const point = (event) => this.choose(this.under(event));
    const leave = () => this.choose(-1);
    const on = { pointermove: point, pointerdown: point, pointerleave: leave, blur: leave };
    on.keydown = (event) => this.onKey(event);
    const look = { tabindex: 0, role: "img", class: "te-tf-wall", title: null, on };
    this.canvas = make("canvas", focusable(NAME, look)); // the sentence says more than a title
    this.large = make("canvas", { class: "te-tf-large", "aria-hidden": "true" });
    this.sentence = make("span", { role: "status" });
    const about = make("div", "te-tf-about", this.large, this.sentence);
    this.element = make("div", {}, this.canvas, about);
  }
  onKey(event) {
    const way = ARROWS[event.key];
    if (!way || !isPlain(event)) return;
    const step = way[0] + PER_ROW * way[1];
    this.choose(this.chosen < 0 ? 0 : clamp(this.chosen + step, 0, this.count - 1));
    take(event);
  }
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * PER_ROW);
    const row = Math.floor(((event.clientY - box.top) / box.height) * this.rows);
    const i = row * PER_ROW + column;
    return column >= 0 && column < PER_ROW && row >= 0 && i < this.count ? i : -1;
  }
  choose(i) {
    if (i === this.chosen) return;
    this.chosen = i;
    this.draw(this.position);
  }
  fit() {
    const side = clamp(Math.floor((this.element.clientWidth || 760) / PER_ROW), 12, 30);
    fitCanvas(this.canvas, side * PER_ROW, side * this.rows);
  }
  draw(position) {
    this.position = position;
    const frame = Math.floor(position + 1e-6);
    const part = Math.max(0, position - frame);
    const { canvas, count, guesses } = this;
    const pen = canvas.getContext("2d");
    pen.resetTransform(); // digits are drawn in whole pixels of the screen
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    let wrong = 0;
    for (let i = 0; i < count; i++) {
      const isRight = guesses.isRight(frame, i);
      wrong += isRight ? 0 : 1;
      this.drawDigit(pen, i, isRight, isRight ? guesses.flash(frame, part, i) : 1);
    }
    const right = `${count - wrong} of ${count} test images read correctly`;
    canvas.setAttribute("aria-label", `${right}; arrow keys choose one`);
    this.element.dataset.wrong = wrong; // for tests and for the curious
    this.drawChosen(frame);
  }
  drawDigit(pen, i, isRight, strength) {
    const side = this.canvas.width / PER_ROW;
    const size = Math.max(8, 8 * Math.floor((side - 2) / 8));
    const edge = (side - size) / 2;
    const [x, y] = cornerOf(i, side);
    if (strength > 0) {
      pen.fillStyle = `rgba(${isRight ? TURNED : MISREAD}, ${strength})`;
      pen.fillRect(x + 0.5, y + 0.5, side - 1, side - 1);
    }
    const isDark = pageIsDark();
    const ink = isDark || strength > 0.4 ? this.sheets.white : this.sheets.black;
    pen.drawImage(ink, ...cornerOf(i, 8), 8, 8, x + edge, y + edge, size, size);
    if (i !== this.chosen) return;
    const width = Math.max(2, side / 10);
    outline(pen, isDark ? "#fff" : "#000", width, x + 1, y + 1, side - 2, side - 2);
  }
  drawChosen(frame) {
    const { chosen: i, guesses, large } = this;
    large.hidden = i < 0;
    if (i >= 0) {
      const pen = cleared(large, 56, 56);
      pen.imageSmoothingEnabled = false;
      const ink = pageIsDark() ? this.sheets.white : this.sheets.black;
      pen.drawImage(ink, ...cornerOf(i, 8), 8, 8, 0, 0, 56, 56);
    }
    const [label, read] = [guesses.labels[i], guesses.read(frame, i)];
    const one = i < 0 ? null : { frame, label, read, settled: guesses.settled(i) };
    const text = this.describe(one);
    if (this.sentence.textContent !== text) this.sentence.textContent = text;
  }
}
