// The lines themselves: x as a needle through the rows of all formats, moved by mouse and keys.

import { focusable, make, shape } from "../shared/elements.js";
import { answerKey } from "../shared/keys.js";
import { anchorAt, line, path, words } from "../shared/svg.js";
import { clamp } from "../shared/time.js";
import { minus, plain } from "../shared/words.js";
import { drawRow } from "./row.js";
import { axisTicks } from "./scale.js";

const KEYS =
  "x; arrow keys move it, Page Up and Page Down go to the next number of the first format, " +
  "plus and minus zoom, Home and End slide the window";

export class Stage {
  /** `owner` is the number line: its view, and what moves it. */
  constructor(owner) {
    Object.assign(this, { owner, width: 0, isDragging: false, marks: [] });
    this.needle = shape("svg", {
      ...focusable(KEYS, { class: "te-nl-needle", role: "slider", tabindex: 0 }),
      height: 26,
      "aria-valuemin": 0,
      "aria-valuemax": 1000,
    });
    this.needle.removeAttribute("title");
    this.needle.addEventListener("keydown", (event) => this.onKey(event));
    this.rows = make("div", "te-nl-rows");
    this.axis = shape("svg", { class: "te-nl-axis", height: 30, "aria-hidden": "true" });
    const drag = (event) => this.isDragging && this.owner.moveTo(this.pointed(event));
    const drop = () => (this.isDragging = false);
    const on = { pointermove: drag, pointerup: drop, pointercancel: drop };
    on.pointerdown = (event) => this.grip(event);
    this.element = make("div", { class: "te-nl-stage", on }, this.needle, this.rows, this.axis);
  }
  get pixels() {
    return this.width / (this.owner.view.hi - this.owner.view.lo);
  }
  at = (value) => (value - this.owner.view.lo) * this.pixels;

  pointed(event) {
    const left = this.element.getBoundingClientRect().left;
    const { lo, hi } = this.owner.view;
    return clamp(lo + (event.clientX - left) / this.pixels, lo, hi);
  }
  grip(event) {
    if (event.button !== 0 || event.target.closest("button")) return;
    this.isDragging = true;
    this.element.setPointerCapture(event.pointerId);
    this.needle.focus({ preventScroll: true });
    this.owner.moveTo(this.pointed(event));
    event.preventDefault();
  }
  onKey(event) {
    const { owner } = this;
    const step = (event.shiftKey ? 1 : 8) / this.pixels;
    const by = (change) => () => owner.moveTo(owner.view.x + change);
    const next = (way) => () => owner.model.send({ do: "neighbour", way });
    answerKey(event, {
      ArrowRight: by(step),
      ArrowUp: by(step),
      ArrowLeft: by(-step),
      ArrowDown: by(-step),
      PageUp: next(1),
      PageDown: next(-1),
      "+": () => owner.zoom(0.5),
      "=": () => owner.zoom(0.5),
      "-": () => owner.zoom(2),
      Home: () => owner.slide(-0.5),
      End: () => owner.slide(0.5),
    });
  }

  draw(answer, formats) {
    this.width = Math.max(200, this.element.clientWidth);
    for (const svg of [this.needle, this.axis]) svg.setAttribute("width", this.width);
    this.drawRows(answer, formats);
    this.drawAxis();
    const sentences = [`x = ${answer.x_text}`, ...answer.rows.map((row) => row.sentence)];
    this.needle.setAttribute("aria-valuetext", sentences.join(". "));
  }
  drawRows(answer, formats) {
    const hadFocus = this.rows.contains(document.activeElement);
    const { width, at, pixels } = this;
    const drawn = answer.rows.map((row) => {
      const closer = () => this.owner.model.send({ do: "closer", format: row.name });
      const format = formats.find((f) => f.name === row.name);
      return drawRow(row, format, { width, at, pixels, closer });
    });
    this.marks = drawn.map((row) => row.needle);
    this.rows.replaceChildren(...drawn.map((row) => row.element));
    if (hadFocus) this.needle.focus({ preventScroll: true });
  }
  drawAxis() {
    const { axis, width } = this;
    const { lo, hi } = this.owner.view;
    axis.replaceChildren(line(0, 1, width, 1, "te-nl-base"));
    for (const [value, text] of axisTicks(lo, hi, width)) {
      const x = this.at(value);
      if (x < 0 || x > width) continue;
      axis.append(line(x, 0, x, 6, "te-nl-base"));
      axis.append(words(x, 20, minus(text), "te-nl-small", anchorAt(x, width, 24)));
    }
  }
  /** Show where x is, at once; returns how it is written. */
  drawNeedle(answer) {
    const { x: value, lo, hi } = this.owner.view;
    const x = this.at(value);
    const text = answer.x_text && value === answer.x ? answer.x_text : plain(value, 7);
    const places = { start: [x + 10, "start"], middle: [x + 12, "start"], end: [x - 10, "end"] };
    const [left, anchor] = places[anchorAt(x, this.width, 60)];
    this.needle.replaceChildren(
      words(left, 12, `x = ${text}`, "te-nl-xtext", anchor),
      path(`M${x - 7},4 h14 v10 l-7,10 l-7,-10 z`, "te-nl-handle"),
    );
    for (const mark of this.marks) {
      mark.setAttribute("x1", x);
      mark.setAttribute("x2", x);
    }
    this.needle.setAttribute("aria-valuenow", Math.round((1000 * (value - lo)) / (hi - lo)));
    return text;
  }
}
