// The whole run on a few lines above the lanes, with the window that is shown; drag it to move.

import { cleared, frame } from "../shared/canvas.js";
import { make } from "../shared/elements.js";
import { fill, type } from "./drawing.js";
import { Shades } from "./shades.js";
import { GUTTER } from "./time_window.js";
import { percent } from "../shared/words.js";

export function createOverview(s) {
  const element = make("canvas", { class: "te-core-overview", "aria-hidden": "true" });
  const whole = document.createElement("canvas"); // the run without the window, drawn once
  const { view } = s;
  let drawn = [];
  let dragged = null;
  const timeAt = (event) => ((event.offsetX - GUTTER) / view.width) * view.end;
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    const t = timeAt(event);
    if (view.isWhole) view.around(t, view.end / 8);
    else if (t < view.lo || t > view.hi) view.around(t);
    dragged = { t, lo: view.lo, hi: view.hi };
  });
  element.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const by = timeAt(event) - dragged.t;
    view.show(dragged.lo + by, dragged.hi + by);
  });
  for (const end of ["pointerup", "pointercancel"])
    element.addEventListener(end, () => (dragged = null));
  element.addEventListener("dblclick", () => view.whole());

  function draw() {
    const { film, tones } = s;
    const shown = [...film.tracks.keys()].filter((t) => film.tracks[t][2] === "engine");
    const tall = Math.max(2, Math.min(5, 40 / (shown.length + 1)));
    const high = (shown.length + 1) * (tall + 1) + 6;
    const now = [film, view.width, view.end, tones, window.devicePixelRatio];
    if (now.some((value, i) => value !== drawn[i]))
      drawWhole(cleared(whole, view.wide, high), s, shown, tall, high);
    drawn = now;
    const c = cleared(element, view.wide, high);
    c.drawImage(whole, 0, 0, view.wide, high);
    const [a, b] = [view.lo, view.hi].map((t) => GUTTER + (t / view.end) * view.width);
    fill(c, tones.paper, 0.65, GUTTER, 0, a - GUTTER, high);
    fill(c, tones.paper, 0.65, b, 0, view.right - b, high);
    frame(c, tones.ink, 1.5, a + 0.75, 0.75, Math.max(3, b - a - 1.5), high - 1.5);
    type(c, `11px ${tones.font}`, tones.muted);
    const share = view.isWhole ? "whole run" : `${percent(view.span / view.end)} of the run`;
    c.fillText(share, 4, high / 2);
  }
  return { element, draw };
}

const shades = new Shades();

function drawWhole(c, { film, view, tones, colourOf }, shown, tall, high) {
  fill(c, tones.lane, 1, GUTTER, 0, view.width, high);
  const scale = view.width / view.end;
  let y = 3;
  const paint = (count, bounds, colour) => {
    shades.begin(view.width);
    for (let i = 0; i < count; i++) shades.add(...bounds(i));
    shades.paint(c, y, tall, colour);
    y += tall + 1;
  };
  for (const t of shown) {
    const { start, end } = film.byTrack[t];
    paint(start.length, (i) => [start[i] * scale, end[i] * scale], colourOf(film.tracks[t][1]));
  }
  const { load, load_ns: when } = film;
  const busy = (i) => [when[i] * scale, (load[i] ? when[i + 1] : when[i]) * scale];
  paint(load.length - 1, busy, colourOf("dma"));
}
