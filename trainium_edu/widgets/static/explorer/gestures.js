// Mouse and keys over a panel: move, zoom, point at, pick.

import { answerKey } from "../shared/keys.js";
import { GUTTER } from "./time_window.js";

const MOVED = 3; // pixels: less is a click
const STEP = 1.6; // one zoom
const PART = 0.2; // of the window: one move

/**
 * Listen to a panel ({element, hit, step}); `hands` are hover(panel, found, event), leave(),
 * pick(found) and followPath(way).
 */
export function listenTo(s, panel, hands) {
  const { element } = panel;
  const { view } = s;
  let drag = null;
  const listeners = {
    pointermove(event) {
      const moved = drag ? event.offsetX - drag.x : 0;
      if (!drag) {
        const isInside = event.offsetX >= GUTTER && event.offsetX <= view.right;
        s.cursor = isInside ? view.t(event.offsetX) : -1;
        hands.hover(panel, panel.hit(event.offsetX, event.offsetY), event);
      } else if (drag.moved || Math.abs(moved) > MOVED) {
        if (!drag.moved) hands.tip.hide();
        drag.moved = true;
        element.style.cursor = "grabbing";
        view.show(drag.lo - moved / view.scale, drag.hi - moved / view.scale);
      }
    },
    pointerdown(event) {
      if (event.button) return;
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, lo: view.lo, hi: view.hi, moved: false };
    },
    pointerup(event) {
      const isClick = drag && !drag.moved;
      drag = null;
      if (isClick) hands.pick(panel.hit(event.offsetX, event.offsetY));
    },
    pointercancel: () => (drag = null),
    pointerleave: () => drag || hands.leave(),
    dblclick: () => closeUp(s),
    keydown: (event) => onKey(s, panel, hands, event),
  };
  for (const [name, f] of Object.entries(listeners)) element.addEventListener(name, f);
  element.addEventListener("wheel", (event) => onWheel(s, element, event), { passive: false });
}

function onWheel({ view }, element, event) {
  const { deltaX, deltaY } = event;
  const isWanted = event.ctrlKey || event.metaKey || document.activeElement === element;
  if (!isWanted) return; // the page scrolls until the picture was clicked
  event.preventDefault();
  if (Math.abs(deltaX) > Math.abs(deltaY) || event.shiftKey)
    view.pan(((deltaX || deltaY) * 0.8) / view.scale);
  else view.zoom(Math.exp(-deltaY * 0.0016), view.t(event.offsetX));
}

/** Show the picked row with some of what is around it. */
function closeUp({ view, film, picked }) {
  if (picked < 0) return;
  const [from, to] = [film.rows_start[picked], film.rows_end[picked]];
  view.around((from + to) / 2, Math.max(8 * (to - from), 20));
}

/** Where a zoom by keys stays: at the cursor, or at what is picked. */
function focusTime({ film, cursor, picked }) {
  if (cursor >= 0) return cursor;
  return picked >= 0 ? (film.rows_start[picked] + film.rows_end[picked]) / 2 : undefined;
}

function onKey(s, panel, hands, event) {
  const { view } = s;
  const zoom = (factor) => () => view.zoom(factor, focusTime(s));
  const pan = (way) => () => view.pan(way * PART * view.span);
  const step = (sideways, down) => () => hands.pick(panel.step(sideways, down));
  const whole = () => view.whole();
  answerKey(event, {
    ArrowLeft: event.shiftKey ? pan(-1) : step(-1, 0),
    ArrowRight: event.shiftKey ? pan(1) : step(1, 0),
    ArrowUp: step(0, -1),
    ArrowDown: step(0, 1),
    "+": zoom(STEP),
    "=": zoom(STEP),
    "-": zoom(1 / STEP),
    w: zoom(STEP),
    s: zoom(1 / STEP),
    a: pan(-1),
    d: pan(1),
    Home: whole,
    0: whole,
    Enter: () => closeUp(s),
    c: () => hands.followPath(1),
    C: () => hands.followPath(-1),
    Escape: () => hands.pick({}),
  });
}
