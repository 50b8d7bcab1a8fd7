// A picture under the pointer: dragging turns it, resting points, a press that does not move chooses.

export class Grip {
  /** `under(x, y)` says what is there; `turn`, `hover`, `press`, `leave` are told of it. */
  constructor(stage, { under, turn, hover, press, leave }) {
    Object.assign(this, { stage, turn, hover, press, held: null });
    this.under = (event) => {
      const box = stage.getBoundingClientRect();
      return under(event.clientX - box.left, event.clientY - box.top);
    };
    stage.addEventListener("pointerdown", (event) => this.take(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.drop(event));
    stage.addEventListener("pointercancel", () => (this.held = null));
    stage.addEventListener("pointerleave", leave);
  }
  take(event) {
    if (event.button) return;
    this.held = { x: event.clientX, y: event.clientY, hasMoved: false };
    this.stage.setPointerCapture(event.pointerId);
  }
  move(event) {
    if (!this.held) {
      const found = this.under(event);
      this.stage.style.cursor = found.chip >= 0 || found.wire >= 0 ? "pointer" : "";
      this.hover(found);
      return;
    }
    const dx = event.clientX - this.held.x;
    const dy = event.clientY - this.held.y;
    if (!this.held.hasMoved && Math.hypot(dx, dy) < 4) return;
    this.held = { x: event.clientX, y: event.clientY, hasMoved: true };
    this.turn(dx * 0.01, dy * 0.01);
  }
  drop(event) {
    if (this.held && !this.held.hasMoved) this.press(this.under(event));
    this.held = null;
  }
}
