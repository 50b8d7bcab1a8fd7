// The levels outside of a core: the cluster, an instance, a chip.

import { PLACES, chipAt, coreAt, dotAt, middle, way } from "./places.js";

export function ultracluster(p, c) {
  p.block(PLACES.ultracluster.network, c.dma, 0.22, 16, 3);
  p.title("network (EFA): non-blocking, petabit-scale", [800, 145], 34);
  for (let x = 80; x <= 1520; x += 60) p.line(way(x, 182, x, 246), c.dma, 2.5, { a: 0.6 });
  p.dots(dotAt, 125, 50, c.chip, (i, j) => 0.5 + 0.4 * (((i * 7 + j * 13) % 10) / 10));
  p.text("6,250 dots: each is an instance of 16 chips", [800, 912], 32);
}

const FOUR = [0, 1, 2, 3];
const ALL = FOUR.flatMap((i) => FOUR.map((j) => [i, j]));

export function instance(p, c) {
  for (const [i, j] of ALL) {
    const [x, y] = middle(chipAt(i, j));
    if (i < 3) wire(p, c, [x, y], [x + 300, y]);
    if (j < 3) wire(p, c, [x, y], [x, y + 210]);
  }
  for (const n of FOUR) wireAround(p, c, middle(chipAt(n, n)));
  for (const [i, j] of ALL) {
    const place = chipAt(i, j);
    p.card(place, c.chip, 14, 4);
    p.box(place, { fill: c.chip, a: 0.2, radius: 14 });
    if (i !== 1 || j !== 1) p.text(`chip ${4 * j + i}`, middle(place), 32);
  }
  p.block(PLACES.instance.network, c.dma, 0.25, 12, 3);
  p.text("network (EFA)", [1530, 500], 30, { turned: true });
  p.note("dashed: links from one edge around to the other", [800, 972], 28);
}

const wire = (p, c, ...points) => p.line(points, c.link, 6, { a: 0.9 });

/** The links that lead from the ends of a row and of a column around, behind the chips. */
function wireAround(p, c, [x, y]) {
  const [below, beside] = [y + 105, x + 150];
  const back = (...points) => p.line(points, c.link, 3, { a: 0.55, dash: [10, 9] });
  wire(p, c, [255, y], [160, y + 52, 160, y], [205, below, 160, below]);
  back([205, below], [1400, below]);
  wire(p, c, [1345, y], [1445, y + 52, 1445, y], [1400, below, 1445, below]);
  wire(p, c, [x, 118], [x + 75, 38, x, 38], [beside, 80, beside, 38]);
  back([beside, 80], [beside, 905]);
  wire(p, c, [x, 867], [x + 75, 938, x, 938], [beside, 905, beside, 938]);
}

const PLUGS = [
  [740, 14, 120, 52],
  [740, 934, 120, 52],
  [34, 440, 52, 120],
  [1514, 440, 52, 120],
];

export function chip(p, c, { cores, dma: engines, cc: collective }) {
  const { links, hbm, hbm2, dma, cc } = PLACES.chip;
  p.box(links, { line: c.chip, radius: 30, width: 5 });
  for (const plug of PLUGS) p.box(plug, { fill: c.link, radius: 8 });
  p.note("NeuronLink", [800, 92], 28);
  for (const [x, y, w, h] of [hbm, hbm2]) {
    p.block([x, y, w, h], c.hbm, 0.25, 12, 4);
    for (let n = 1; n < 8; n++) {
      const layer = y + 92 * n;
      p.line(way(x, layer, x + w, layer), c.hbm, 2, { a: 0.5 });
    }
    p.title("HBM", [x + w / 2, 500], 40);
  }
  for (let n = 0; n < cores; n++) {
    const place = coreAt(n, cores);
    p.block(place, c.tensor, 0.15, 14, 4);
    if (n) p.title(`NeuronCore ${n}`, middle(place), Math.min(34, place[2] / 8));
  }
  p.note("NeuronCore 0", [middle(coreAt(0, cores))[0], 432], 26);
  row(p, dma, engines, engines > 32 ? 4 : 2, c.dma, `${engines} data movers (DMA engines)`);
  row(p, cc, collective, 1, c.vector, `${collective} cores for collectives (CC-Cores)`);
  p.arrows(way(300, 300, 388, 300), c.hbm, 6);
  p.arrows(way(1300, 300, 1212, 300), c.hbm, 6);
}

/** Small boxes on some lines, and what they are. */
function row(p, [x, y, w, h], count, lines, colour, label) {
  const [wide, tall] = [(w * lines) / count, h / lines];
  for (let n = 0; n < count; n++) {
    const left = x + (n % (count / lines)) * wide;
    const top = y + Math.floor((n * lines) / count) * tall;
    p.box([left + 4, top + 4, wide - 8, tall - 8], { fill: colour, a: 0.75, radius: 6 });
  }
  p.text(label, [x + w / 2, y + h + 26], 28);
}
