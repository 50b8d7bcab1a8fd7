// What is outside the array: operands that queue at its edges, results that leave below it.

import { write } from "../shared/canvas.js";
import { STAYS, WAITS } from "./film.js";
import { number } from "./half.js";
import { nearness } from "./layout.js";
import { INK } from "./palette.js";

/** Draw inside a rectangle only. */
function clipped(c, x, y, width, height, draw) {
  c.save();
  c.beginPath();
  c.rect(x, y, width, height);
  c.clip();
  draw();
  c.restore();
  c.globalAlpha = 1;
}

/** Call for each of a lane's entries that is still outside: its index, and how many cells away. */
function eachOutside(lane, cycles, t, queue, draw) {
  for (const i of lane) {
    const ahead = cycles[i] - t;
    if (ahead > queue + 1) break;
    if (ahead > 0) draw(i, ahead);
  }
}

/** Draw what comes in from the left and from above, at cycle t and `way` of the next one. */
export function drawQueues(c, film, pens, t, way) {
  const { left, top, cell, queue, height } = pens.box;
  const hasText = cell >= 34;
  const token = (x, y, ahead, value, colour) => {
    c.globalAlpha = nearness(ahead - way, queue + 1.2);
    pens.token(c, x, y, value, colour, { hasText });
  };
  c.font = pens.font();
  clipped(c, 28, 0, left + cell * 0.8 - 28, height, () => {
    film.fromLeft.forEach((lane, k) => {
      const y = top + (k + 0.42) * cell;
      eachOutside(lane, film.q_cycle, t, queue, (i, ahead) =>
        token(left + (0.66 - ahead + way) * cell, y, ahead, film.q_value[i], INK.across),
      );
    });
  });
  film.fromTop.forEach((lane, m) => {
    const x = left + (m + 0.28) * cell;
    eachOutside(lane, film.t_cycle, t, queue, (i, ahead) =>
      token(x, top + (0.8 - ahead + way) * cell, ahead, film.t_value[i], INK.wait),
    );
  });
  c.globalAlpha = 1;
}

/** Draw what will stay: in front of its row, on its way to its column, and waiting there. */
export function drawLoads(c, film, pens, t, way) {
  const { left, top, cell, queue, width, height } = pens.box;
  clipped(c, 28, 0, width - 28, height, () => {
    film.loadsOf.forEach((loads, k) => {
      const y = top + (k + 0.15) * cell;
      for (const { enters, column, value, place, beside } of loads) {
        const on = t - enters; // the column that it has reached
        if (on >= column || -on > queue + 1) continue;
        const isAlone = beside.many === 1;
        const shift = isAlone ? 0 : (0.8 * place) / beside.many;
        const size = isAlone ? pens.size : Math.min(pens.size, 9);
        c.globalAlpha = on < 0 ? nearness(-on - way, queue + 1.2) : 1;
        pens.token(c, left + (0.24 + shift + on + way) * cell, y, value, INK.wait, { size });
      }
      c.globalAlpha = 1;
      for (let m = 0; m < film.columns; m++) {
        if (!film.has(WAITS, t, k, m)) continue;
        const x = left + (m + (film.has(STAYS, t, k, m) ? 0.78 : 0.24)) * cell;
        pens.token(c, x, y, number(film.waiting, film.at(t, k, m)), INK.wait);
      }
    });
  });
}

/** Draw the sums that have left, on their way to PSUM. */
export function drawResults(c, film, pens, t, way) {
  const { left, top, cell, below, width } = pens.box;
  const floor = top + film.rows * cell;
  const label = { font: "11px sans-serif", colour: pens.tones.muted };
  write(c, "PSUM", 2, floor + cell * 0.55, label);
  c.font = pens.font();
  clipped(c, 0, floor, width, below * cell, () => {
    for (let m = 0; m < film.columns; m++) {
      for (let past = way ? 0 : 1; past <= Math.min(t, below + 1); past++) {
        const i = film.resultAt(t - past, m);
        if (i === undefined) continue;
        const gone = past - 1 + way;
        c.globalAlpha = nearness(gone, below + 0.6, 0.15);
        pens.sum(c, left + m * cell, floor + gone * cell, film.r_value[i]);
      }
    }
  });
}
