// One clock with other pictures: window and cursor are traits that Python may link.

import { tell } from "../shared/life.js";

const AFTER = 50; // ms: messages are sent at most that often
const NEAR = 1e-6; // ns

export class LinkedClock {
  constructor(model, s) {
    Object.assign(this, { model, s, waiting: 0 });
  }
  /**
   * Set and save in one go: what is set but not yet saved would be undone by the kernel's echo of
   * what was saved before, so that the picture jumps back while a busy kernel catches up.
   */
  share() {
    this.waiting ||= setTimeout(() => {
      const { view, cursor } = this.s;
      this.waiting = 0;
      tell(this.model, { window: [view.lo, view.hi], cursor_ns: cursor });
    }, AFTER);
  }
  followWindow() {
    const { view } = this.s;
    const [lo, hi] = this.model.get("window");
    const isHere = Math.abs(lo - view.lo) < NEAR && Math.abs(hi - view.hi) < NEAR;
    if (hi > lo && !isHere) view.show(lo, hi);
  }
  /** Take the model's cursor; returns whether it has moved. */
  followCursor() {
    const isOther = this.model.get("cursor_ns") !== this.s.cursor;
    this.s.cursor = this.model.get("cursor_ns");
    return isOther;
  }
  dispose() {
    clearTimeout(this.waiting);
  }
}
