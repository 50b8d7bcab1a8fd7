// The bits of a number as switches, one box each, grouped by field.

import { make } from "../shared/elements.js";
import { answerKey } from "../shared/keys.js";
import { clamp } from "../shared/time.js";

const KEYS = "Bits: arrow keys left and right move, Space flips, up and down go to the next number";

export class Strip {
  /** `flip(bit)` counts from the right; `step(way)` goes to the next number. */
  constructor({ flip, step }) {
    Object.assign(this, { flip, step, bits: [], shape: "", at: 0 });
    this.element = make("div", { class: "te-row te-be-strip", role: "group", "aria-label": KEYS });
  }
  /** Show the bits of an answer; the boxes are made anew only for another format. */
  show({ shape, places, fields }) {
    if (shape !== this.shape) {
      const hadFocus = this.element.contains(document.activeElement);
      this.build(places, fields);
      this.shape = shape;
      if (hadFocus) this.focus(this.at);
    }
    places.forEach(({ bit, say }, i) => {
      const box = this.bits[i];
      box.textContent = bit;
      box.classList.toggle("te-on", bit === "1");
      box.setAttribute("aria-checked", bit === "1");
      box.setAttribute("aria-label", say);
      box.title = say;
    });
  }
  build(places, fields) {
    this.at = Math.min(this.at, places.length - 1);
    this.bits = places.map((_, i) => this.box(i));
    const groups = fields.map(({ kind, label }) => {
      const boxes = places.flatMap((place, i) => {
        const worth = make("small", { "aria-hidden": "true" }, place.worth);
        const spot = () => make("span", "te-be-place", this.bits[i], worth);
        return place.kind === kind ? [spot()] : [];
      });
      const look = { class: `te-be-field te-be-${kind}`, role: "group", "aria-label": label };
      const name = make("div", "te-be-name", label);
      return make("div", look, make("div", "te-be-boxes", ...boxes), name);
    });
    this.element.replaceChildren(...groups);
  }
  box(i) {
    const click = () => {
      this.focus(i);
      this.flipAt(i);
    };
    const on = { click, keydown: (event) => this.onKey(event) };
    const look = { class: "te-be-bit", tabindex: i === this.at ? 0 : -1, on };
    const kind = { type: "button", role: "switch", "data-lm-suppress-shortcuts": "true" };
    return make("button", { ...kind, ...look });
  }
  onKey(event) {
    const { at, bits } = this;
    answerKey(event, {
      ArrowLeft: () => this.focus(at - 1),
      ArrowRight: () => this.focus(at + 1),
      Home: () => this.focus(0),
      End: () => this.focus(bits.length - 1),
      ArrowUp: () => this.step(1),
      ArrowDown: () => this.step(-1),
      " ": () => this.flipAt(at),
      Enter: () => this.flipAt(at),
      0: () => this.put("0"),
      1: () => this.put("1"),
    });
  }
  focus(i) {
    this.bits[this.at].tabIndex = -1;
    this.at = clamp(i, 0, this.bits.length - 1);
    this.bits[this.at].tabIndex = 0;
    this.bits[this.at].focus();
  }
  flipAt(i) {
    this.flip(this.bits.length - 1 - i);
  }
  /** Write a digit where the focus is, and go on to the next one. */
  put(digit) {
    if (this.bits[this.at].textContent !== digit) this.flipAt(this.at);
    if (this.at < this.bits.length - 1) this.focus(this.at + 1);
  }
}
