// What the camera sees: the level it is in, and through its frame the next ones.

import { fitCanvas } from "../shared/canvas.js";
import { LIVE } from "./live.js";
import { Pen } from "./pen.js";
import { HIGH, WIDE, fade, rectOf } from "./places.js";

const DEPTH = 3; // levels seen at once
const SEEN = 10; // pixels: a smaller level is not drawn

/**
 * Draw the levels `keys` from `z` (whole numbers are levels, between them the camera is under way),
 * drawn as `levels` say, parts at `places`; `now` is of the chip and of the last level's beat,
 * and a part of the nearest level may be marked.
 */
export function drawPicture(canvas, colours, { keys, levels, places, z, width, now, part }) {
  const height = (width * HIGH) / WIDE;
  const ctx = fitCanvas(canvas, width, height);
  const pen = new Pen(ctx, colours, width, height);
  const first = Math.min(keys.length - 1, Math.floor(z + 1e-9));
  const f = z - first;
  let rect = rectOf(places[keys[first]], f, width);
  ctx.clearRect(0, 0, width, height);
  for (const [depth, key] of keys.slice(first, first + DEPTH).entries()) {
    if (!rect || rect[2] <= SEEN) break;
    pen.at(rect);
    pen.alpha = depth ? fade(rect[2], 16, 90) : 1;
    if (depth)
      pen.box([0, 0, WIDE, HIGH], { fill: colours.paper, line: colours.muted, radius: 40 });
    for (const [name, ...how] of levels[key].draw)
      if (name in LIVE) LIVE[name](pen, now, ...how);
      else pen[name](...how);
    const { inside } = places[key];
    rect = inside && pen.toScreen(inside);
    if (inside && depth === 0 && f < 0.6) {
      const by = Math.max(4, 10 - rect[2] / 2);
      pen.mark(inside, by, colours.ink, 2.5, { a: 1 - fade(f, 0.2, 0.6), radius: 7 });
    }
  }
  if (part) {
    const key = keys[Math.round(z)];
    pen.at(rectOf(places[key], 0, width));
    pen.mark(places[key][part], 5, colours.mark, 3, { dash: [7, 4] });
  }
  ctx.globalAlpha = 1;
}
