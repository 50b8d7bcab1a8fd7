// Invisible buttons over the parts of a picture, so that the keyboard reaches them: one takes the
// focus, arrow keys lead to the next one in their direction.

import { focusable, make } from "./elements.js";
import { ARROWS, isPlain, nextPoint, take } from "./keys.js";

export class Spots {
  /** Buttons of class `kind`; `on` has their listeners, each called with the index first. */
  constructor(label, kind, on) {
    Object.assign(this, { kind, on, centres: [] });
    this.element = make("div", { class: "te-spots", role: "group", "aria-label": label });
  }
  offer(names) {
    this.element.replaceChildren(...names.map((name, i) => this.spot(name, i)));
  }
  spot(name, i) {
    const on = { keydown: (event) => this.onKey(event, i) };
    for (const [event, action] of Object.entries(this.on)) on[event] = () => action(i);
    const look = { type: "button", class: this.kind, tabindex: i === 0 ? 0 : -1, on };
    return make("button", focusable(name, look));
  }
  onKey(event, i) {
    const way = ARROWS[event.key];
    if (!way || !isPlain(event)) return;
    take(event);
    const next = nextPoint(this.centres, i, way);
    if (next < 0) return;
    const spots = this.element.children;
    for (const spot of spots) spot.tabIndex = -1;
    spots[next].tabIndex = 0;
    spots[next].focus();
  }
  /** Put the buttons at their places: centres, and half their sides. */
  place(centres, halfOf) {
    this.centres = centres.slice(0, this.element.children.length);
    this.centres.forEach(([x, y], i) => {
      const half = halfOf(i);
      const { style } = this.element.children[i];
      style.width = style.height = `${2 * half}px`;
      style.transform = `translate(${x - half}px, ${y - half}px)`;
    });
  }
}
