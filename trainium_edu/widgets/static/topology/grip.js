// A picture under the pointer: dragging turns it, resting points, a press that does not move
// chooses.

/**
 * Watch the pointer over an element.  `under(x, y)` says what is there; `turn(yaw, pitch)`,
 * `hover(found)`, `press(found)` and `leave()` are told of it, where found is { chip, wire }.
 */
export function watchPointer(stage, { under, turn, hover, press, leave }) {
  let held = null;
  const find = (event) => {
    const box = stage.getBoundingClientRect();
    return under(event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    held = { x: event.clientX, y: event.clientY, hasMoved: false };
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!held) {
      const found = find(event);
      stage.style.cursor = found.chip >= 0 || found.wire >= 0 ? "pointer" : "";
      hover(found);
      return;
    }
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.hasMoved && Math.hypot(dx, dy) < 4) return;
    held = { x: event.clientX, y: event.clientY, hasMoved: true };
    turn(dx * 0.01, dy * 0.01);
  });
  stage.addEventListener("pointerup", (event) => {
    if (held && !held.hasMoved) press(find(event));
    held = null;
  });
  stage.addEventListener("pointercancel", () => (held = null));
  stage.addEventListener("pointerleave", leave);
}
