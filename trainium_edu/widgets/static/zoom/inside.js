// The levels inside of a core: its engines, the systolic array, one processing element.

import { clamp } from "../shared/time.js";
import { PLACES, elementAt, fade, middle, way } from "./places.js";

export function neuroncore(p, c, counts) {
  const { tensor, psum, vector, scalar, gpsimd, sbuf, dma } = PLACES.neuroncore;
  const block = (place, colour, label, small = "") => {
    const [x, y] = middle(place);
    p.block(place, colour, 0.2, 14, 4);
    p.title(label, [x, small ? y - 18 : y], 36);
    p.note(small, [x, y + 24], 27);
  };
  p.arrow(way(300, 556, 300, 456), c.muted, 6);
  p.arrow(way(636, 290, 756, 290), c.tensor, 8);
  p.arrows(way(964, 176, 1096, 176), c.vector, 5);
  p.arrows(way(964, 290, 1096, 290), c.scalar, 5);
  const corner = (colour, ...points) => p.arrow(points, colour, 5);
  for (const [name, x] of Object.entries({ gpsimd: 1510, scalar: 1535, vector: 1560 })) {
    const [, y] = middle(PLACES.neuroncore[name]);
    corner(c[name], [1480, y], [x, y], [x, 556]);
    corner(c[name], [x, 540], [x, 600], [1484, 600]);
  }
  block(psum, c.psum, "PSUM", "sums land");
  block(vector, c.vector, "Vector Engine", "sums, pairs");
  block(scalar, c.scalar, "Scalar Engine", "functions");
  block(gpsimd, c.gpsimd, "GpSimd Engine", "all the rest");
  p.block(tensor, c.tensor, 0.12, 14, 5);
  p.title("Tensor Engine: matmul", [376, 94], 36);
  block(sbuf, c.hbm, "SBUF", `${counts.sbuf}, filled and emptied by software`);
  for (let x = 205; x < 1480; x += 85) p.line(way(x, 568, x, 590), c.hbm, 2, { a: 0.6 });
  block(dma, c.dma, `DMA: ${counts.queues} queues to and from HBM`);
  for (const x of [500, 1100]) p.arrows(way(x, 734, x, 826), c.dma, 6);
}

export function tensor_engine(p, c) {
  const { array } = PLACES.tensor_engine;
  const gap = clamp(7.5 * p.scale - 1.3, 0, 1); // between elements, once they can be told apart
  const place = (i, j) => {
    const [x, y, w, h] = elementAt(i, j);
    return [x + 0.7 * gap, y + 0.5 * gap, w - 1.4 * gap, h - gap];
  };
  const front = (i, j) => 0.25 + 0.7 * Math.max(0, 1 - ((i + j) % 64) / 24); // of a matmul, skewed
  p.box(array, { fill: c.paper });
  if (gap > 0) p.dots(place, 128, 128, c.tensor, front);
  else p.box(array, { fill: c.tensor, a: 0.45 });
  p.box(array, { line: c.tensor, width: 3 });
  for (let n = 0; n < 9; n++) {
    const [x, y] = [360 + 110 * n, 222 + 69 * n];
    p.arrow(way(215, y, 308, y), c.vector, 5);
    p.arrow(way(x, 812, x, 868), c.scalar, 5);
    p.arrow(way(x, 130, x, 190), c.muted, 4, { a: 0.7 });
  }
  p.text("moving, from SBUF", [150, 500], 32, { turned: true });
  p.text("stationary: weights, loaded once and kept", [800, 90], 32);
  p.text("sums, to PSUM", [800, 905], 32);
  p.title("128 × 128 processing elements", [800, 962], 30);
}

/** `beat` has the numbers `now` of one beat, and how far it is: `progress` from 0 to 1. */
export function element(p, c, counts, { now, progress }) {
  const { times, plus } = PLACES.element;
  p.block([200, 110, 1200, 780], c.tensor, 0.1, 50, 6);
  p.arrow(way(40, 545, 552, 545), c.vector, 7);
  p.arrow(way(690, 545, 922, 545), c.tensor, 7);
  p.arrow(way(480, 318, 602, 478), c.tensor, 7);
  p.arrow(way(995, 40, 995, 472), c.scalar, 7);
  p.arrow(way(995, 612, 995, 965), c.scalar, 7);
  const passed = { a: 0.6, dash: [14, 10] };
  p.arrow([...way(300, 590, 300, 842), [1560, 842]], c.vector, 5, passed);
  for (const [sign, place] of Object.entries({ "×": times, "+": plus })) {
    p.card(place, c.ink, 65, 5);
    p.title(sign, middle(place), 84);
  }
  value(p, "weight, stays", now.weight, [430, 280], c.tensor);
  value(p, "input", now.input, [330, 545], c.vector);
  value(p, "sum from above", now.sum_in, [995, 250], c.scalar, "beside");
  const before = p.alpha;
  p.alpha = before * fade(progress, 0.15, 0.45);
  value(p, "product", now.product, [806, 545], c.tensor);
  p.alpha = before * fade(progress, 0.5, 0.8);
  value(p, "sum, one down", now.sum_out, [995, 760], c.scalar, "beside");
  p.alpha = before;
  p.note("input, passed on", [560, 808], 28);
  p.title(`beat ${now.number} of ${now.of}`, [1210, 165], 32);
}

/** A number in a box, with its name above it or beside it. */
function value(p, label, text, [x, y], colour, where = "above") {
  p.card([x - 110, y - 42, 220, 84], colour, 16, 4);
  p.title(text, [x, y], 44);
  if (where === "above") p.note(label, [x, y - 68], 30);
  else p.note(label, [x + 130, y], 30, { align: "left" });
}
