// A card beside the pointer.

import { make } from "../shared/elements.js";
import { tipOf } from "./result.js";

export class Tip {
  element = make("div", { class: "te-core-tip", "aria-hidden": "true" });

  constructor(root) {
    this.root = root;
    root.append(this.element);
  }
  show(s, found) {
    const cards = tipOf(s, found);
    this.element.replaceChildren(...cards);
    this.element.classList.toggle("te-core-shown", cards.length > 0);
  }
  hide() {
    this.element.classList.remove("te-core-shown");
  }
  /** Stand beside the pointer, on the side that has room. */
  place({ clientX, clientY }) {
    const { left, top, width } = this.root.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: high, style } = this.element;
    const x = clientX - left;
    const y = clientY - top;
    const fitsBelow = clientY + 20 + high < window.innerHeight;
    style.left = `${Math.max(0, x + 18 + wide > width ? x - wide - 14 : x + 18)}px`;
    style.top = `${fitsBelow ? y + 18 : Math.max(0, y - high - 14)}px`;
  }
}
