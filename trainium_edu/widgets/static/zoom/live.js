// What of a level depends on the chip, the scale or the beat; all else is drawn as zoom.json says.

import { clamp } from "../shared/time.js";
import { coreAt, dotAt, elementAt, fade, middle } from "./places.js";

/** Drawings by their names in zoom.json; each takes a pen, { counts, beat } and its arguments. */
export const LIVE = {
  instances(p) {
    p.dots(dotAt, 125, 50, "chip", (i, j) => 0.5 + 0.4 * (((i * 7 + j * 13) % 10) / 10));
  },
  cores(p, { counts: { cores } }) {
    for (let n = 0; n < cores; n++) {
      const place = coreAt(n, cores);
      p.block(place, "tensor", 0.15, 14, 4);
      if (n) p.title(`NeuronCore ${n}`, middle(place), Math.min(34, place[2] / 8));
    }
    p.note("NeuronCore 0", [middle(coreAt(0, cores))[0], 432], 26);
  },
  /** Small boxes on some lines, and what they are. */
  row(p, { counts }, [x, y, w, h], name, colour, label) {
    const count = counts[name];
    const lines = name === "cc" ? 1 : count > 32 ? 4 : 2;
    const [wide, tall] = [(w * lines) / count, h / lines];
    for (let n = 0; n < count; n++) {
      const left = x + (n % (count / lines)) * wide;
      const top = y + Math.floor((n * lines) / count) * tall;
      p.box([left + 4, top + 4, wide - 8, tall - 8], { fill: colour, a: 0.75, radius: 6 });
    }
    p.text(`${count} ${label}`, [x + w / 2, y + h + 26], 28);
  },
  /** The array's elements, once they can be told apart; some are at work on a matmul, skewed. */
  elements(p) {
    const gap = clamp(7.5 * p.scale - 1.3, 0, 1);
    if (gap <= 0) return p.box([320, 200, 960, 600], { fill: "tensor", a: 0.45 });
    const place = (i, j) => {
      const [x, y, w, h] = elementAt(i, j);
      return [x + 0.7 * gap, y + 0.5 * gap, w - 1.4 * gap, h - gap];
    };
    const front = (i, j) => 0.25 + 0.7 * Math.max(0, 1 - ((i + j) % 64) / 24);
    p.dots(place, 128, 128, "tensor", front);
  },
  /** A number of the beat in a box, its name above it or beside it; it may appear on the way. */
  value(p, { beat: { now, progress } }, label, name, [x, y], colour, where, appears) {
    const before = p.alpha;
    if (appears) p.alpha = before * fade(progress, ...appears);
    p.card([x - 110, y - 42, 220, 84], colour, 16, 4);
    p.title(now[name], [x, y], 44);
    if (where === "beside") p.note(label, [x + 130, y], 30, { align: "left" });
    else p.note(label, [x, y - 68], 30);
    p.alpha = before;
  },
  beat(p, { beat: { now } }, at) {
    p.title(`beat ${now.number} of ${now.of}`, at, 32);
  },
};
