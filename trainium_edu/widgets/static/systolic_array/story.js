// What happens in a cycle and in one PE, in words; and the life of one result: pure.

import { DOWN, LEAVES, STAYS, WAITS, WORKS } from "./film.js";
import { number } from "./half.js";
import { bracket, long } from "./numbers.js";

export function tellCycle(film, t, isPlaying) {
  const loading = film.isLoading(t) ? " Weights are being loaded." : "";
  const left = `, ${film.left[t]} of ${film.r_cycle.length} sums have left`;
  const busy = `Cycle ${t}: ${film.busy[t]} of ${film.per} PEs multiply`;
  return `${busy}${isPlaying ? "" : left}.${loading}`;
}

/** The lines about a PE that keeps its sum. */
function tellSum(film, t, k, m) {
  const has = (bit) => film.has(bit, t, k, m);
  const value = (plane) => long(film.value(plane, t, k, m));
  const product = film.worksIn(k, m, t).length;
  return [
    has(STAYS) && `Keeps dst[${m}, ${k}] = ${value(film.stays)} so far.`,
    has(WORKS) &&
      `Just added ${value(film.across)} × ${value(film.down)}: product ${product} of ${film.k}.`,
    has(LEAVES) && `A finished sum, ${value(film.leaving)}, passes on its way down.`,
  ];
}

/** The lines about a PE that keeps a weight and hands sums down. */
function tellWeight(film, t, k, m) {
  const has = (bit) => film.has(bit, t, k, m);
  const near = film.exact ? "" : "about ";
  const weight = film.stayAt(t, k, m);
  const lines = [weight !== null && `Holds the ${film.stayName} ${near}${long(weight)}.`];
  if (has(WAITS)) {
    const value = film.waiting ? ` ${long(film.value(film.waiting, t, k, m))}` : "";
    const first = `Its ${film.stayName}${value} has arrived and waits for the first value.`;
    const next = `The next tile's ${film.stayName}${value} waits beside it.`;
    lines.push(weight === null ? first : next);
  }
  if (!has(DOWN)) return lines;
  const before = near + long(k && t ? film.value(film.down, t - 1, k - 1, m) : 0);
  const after = near + long(film.value(film.down, t, k, m));
  if (!has(WORKS)) lines.push(`Lets ${after} pass: no row of this tile lies here.`);
  else if (!film.across) lines.push(`From above ${before}, handed down ${after}.`);
  else {
    const product = `${bracket(weight)} × ${bracket(film.value(film.across, t, k, m))}`;
    lines.push(`${before} from above + ${product} = ${after}.`);
  }
  const part = film.sumOf(t, k, m);
  const name = part ? `dst[${part.m}, ${part.n}]` : "a result";
  return [...lines, `That is part of ${name}, row ${k + 1} of ${film.rows} on its way down.`];
}

/** The lines about one PE at a cycle. */
export function tellPe(film, t, k, m) {
  const lines = (film.keepsSums ? tellSum : tellWeight)(film, t, k, m).filter(Boolean);
  if (!film.has(WORKS | DOWN | LEAVES, t, k, m)) lines.push("Idle in this cycle.");
  const works = film.worksIn(k, m);
  const span = `from ${works[0]} to ${works.at(-1)}`;
  const history = `Multiplies in ${works.length} of ${film.cycles} cycles, ${span}.`;
  return [...lines, works.length ? history : "Never multiplies: the tile leaves it out."];
}

/**
 * The life of dst[m, n]: { t, k, column, stage, w, x, sum } per step, in the order of time; k is -1
 * where it has left the array, w and x are absent where nothing is multiplied.
 */
export function lifeOf(film, m, n) {
  const steps = [];
  let psum = 0;
  for (const i of film.resultsOf.get(m * film.n + n) ?? []) {
    const [column, leaves] = [film.r_column[i], film.r_cycle[i]];
    steps.push(...(film.keepsSums ? atHome : onTheWay)(film, n, column, leaves));
    psum = film.keepsSums ? film.r_value[i] : film.accumulate(psum, i);
    const stage = !film.keepsSums && film.r_adds[i] ? "PSUM, added" : "PSUM";
    steps.push({ t: leaves + 1, k: -1, column, stage, sum: psum });
  }
  return steps;
}

/** A sum that stays in row n until it is finished, and then falls. */
function atHome(film, n, column, leaves) {
  const { rows } = film;
  const steps = film.worksIn(n, column, leaves).map((t) => {
    const of = (plane) => film.value(plane, t, n, column);
    const [w, x, sum] = [of(film.across), of(film.down), of(film.stays)];
    return { t, k: n, column, stage: "multiply-add", w, x, sum };
  });
  for (let k = n; k < rows; k++) {
    const t = leaves - (rows - 1 - k);
    const sum = film.value(film.leaving, t, k, column);
    steps.push({ t, k, column, stage: `leaving, row ${k}`, sum });
  }
  return steps.sort((a, b) => a.t - b.t);
}

/** A sum that falls through all rows, and takes a product along in each. */
function onTheWay(film, _n, column, leaves) {
  return Array.from({ length: film.rows }, (_, k) => {
    const t = leaves - (film.rows - 1) + k;
    const i = film.at(t, k, column);
    const step = { t, k, column, stage: `row ${k}`, sum: number(film.down, i) };
    if (!(film.state[i] & WORKS)) return step;
    const x = film.across ? number(film.across, i) : undefined;
    return { ...step, w: film.stayAt(t, k, column), x };
  });
}
