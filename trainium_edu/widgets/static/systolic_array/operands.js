// Which elements of W, X and dst are where in a cycle.
//
// Python labels every operand element and runs the same plan on the labels (see _labels in
// widgets/systolic_array.py); the labels, counted from 1, say which element a PE holds.

import { ACROSS, DOWN, STAYS, WAITS } from "./film.js";
import { number } from "./half.js";

export class Operands {
  constructor(film) {
    this.film = film;
    const { keepsMoving, keepsSums, m, n } = film;
    const stays = [film.of_stays, STAYS];
    const staying = [stays, [film.of_waiting, WAITS]];
    const across = [[film.of_across, ACROSS]];
    // by operand: planes of labels, and the bit that says that a label is there
    if (keepsSums) this.holds = { W: [[film.of_down, DOWN]], X: across };
    else this.holds = keepsMoving ? { W: across, X: staying } : { W: staying, X: across };
    this.staying = keepsSums ? "" : keepsMoving ? "X" : "W";
    this.sums = new Float32Array(m * n); // PSUM at the end of the cycle
    this.landed = new Uint8Array(m * n); // how many sums have come to an element
    this.needed = new Uint8Array(m * n); // and how many make it
    film.r_cycle.forEach((_, i) => this.needed[this.elementOf(i)]++);
  }
  /** The element of dst that a result belongs to. */
  elementOf(i) {
    return this.film.r_m[i] * this.film.n + this.film.r_n[i];
  }
  /** Fill PSUM as it stands at the end of a cycle; results are in the order of their cycles. */
  fill(t) {
    const { film, landed, sums } = this;
    sums.fill(0);
    landed.fill(0);
    for (let i = 0; i < film.r_cycle.length && film.r_cycle[i] <= t; i++) {
      const element = this.elementOf(i);
      sums[element] = film.accumulate(sums[element], i);
      landed[element]++;
    }
  }
  isFinished(element) {
    return this.landed[element] === this.needed[element];
  }
  get finished() {
    return this.landed.reduce((sum, count, i) => sum + (count > 0 && this.isFinished(i)), 0);
  }
  /** The element of dst that PE j works on at a cycle, or -1. */
  sumIn(t, j) {
    const { columns, n } = this.film;
    const found = this.film.sumOf(t, Math.floor(j / columns), j % columns);
    return found ? found.m * n + found.n : -1;
  }
  /** Where elements are: 1 in use or on their way, 2 waiting in a PE; dst: its PE + 1. */
  whereabouts(t) {
    const { k, m, n, per, state } = this.film;
    const W = new Uint8Array(k * m);
    const X = new Uint8Array(k * n);
    const dst = new Uint16Array(m * n);
    for (let j = 0, i = t * per; j < per; j++, i++) {
      for (const [name, where] of Object.entries({ W, X })) {
        for (const [labels, bit] of this.holds[name]) {
          if (state[i] & bit) where[labels[i] - 1] |= bit === WAITS ? 2 : 1;
        }
      }
      const sum = this.sumIn(t, j);
      if (sum >= 0) dst[sum] = j + 1;
    }
    return { W, X, dst };
  }
  /** The elements that a PE works with: {W, X, dst}, absent where it holds none. */
  elementsIn(t, pe) {
    const j = pe.k * this.film.columns + pe.m;
    const i = t * this.film.per + j;
    const found = {};
    for (const name of ["W", "X"]) {
      for (const [labels, bit] of this.holds[name]) {
        if (bit !== WAITS && this.film.state[i] & bit) found[name] = labels[i] - 1;
      }
    }
    const sum = this.sumIn(t, j);
    return sum >= 0 ? { ...found, dst: sum } : found;
  }
  /** The PEs that hold an element: [{k, m}, ...]. */
  holders(t, name, element) {
    const { columns, per, state } = this.film;
    const isHere = (j) => {
      if (name === "dst") return this.sumIn(t, j) === element;
      const i = t * per + j;
      return this.holds[name].some(([labels, bit]) => state[i] & bit && labels[i] - 1 === element);
    };
    const found = [...Array(per).keys()].filter(isHere);
    return found.map((j) => ({ k: Math.floor(j / columns), m: j % columns }));
  }
  /** The unfinished sum that PE j holds for a result. */
  runningSum(t, j) {
    const { film } = this;
    const i = t * film.per + j;
    if (!film.keepsSums) return number(film.down, i);
    return number(film.state[i] & STAYS ? film.stays : film.leaving, i);
  }
}
