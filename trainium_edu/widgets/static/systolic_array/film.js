// One recorded run, as Python sends it (widgets/systolic_array.py): what each PE holds at the end
// of each cycle, what waits at the edges, what leaves.

import { unpack } from "../shared/bytes.js";
import { HalfCodes, number } from "./half.js";

// the bits of a PE's state
export const STAYS = 1;
export const ACROSS = 2;
export const DOWN = 4;
export const WORKS = 8;
export const WAITS = 16;
export const LEAVES = 32;

/** Inflate the bytes that Python sent. */
export async function inflate(view) {
  const stream = new Blob([view]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The numbers 0, 1, ... of some entries, by their lanes, in the order of their cycles. */
function byLane(count, lanes, cycles) {
  const found = Array.from({ length: count }, () => []);
  lanes.forEach((lane, i) => found[lane].push(i));
  for (const list of found) list.sort((a, b) => cycles[a] - cycles[b]);
  return found;
}

export class Film {
  constructor(bytes) {
    Object.assign(this, unpack(bytes, { f16: HalfCodes }));
    this.per = this.rows * this.columns;
    this.isLarge = this.columns > 32 || this.rows > 32; // shown as colours, without numbers
    this.keepsSums = this.dataflow === "output-stationary";
    this.keepsMoving = this.dataflow === "input-stationary";
    this.acrossName = this.keepsMoving ? "stationary" : "moving";
    this.stayName = this.keepsSums ? "sum" : this.keepsMoving ? "moving" : "weight";
    this.fromLeft = byLane(this.rows, this.q_lane, this.q_cycle);
    this.fromTop = byLane(this.columns, this.t_lane, this.t_cycle);
    this.indexResults();
    this.indexLoads();
  }
  indexResults() {
    this.left = new Uint32Array(this.cycles); // sums that have left by each cycle
    this.resultIn = new Map(); // by cycle and column
    this.resultsOf = new Map(); // by element of dst
    this.r_cycle.forEach((cycle, i) => {
      if (cycle < this.cycles) this.left[cycle]++;
      this.resultIn.set(cycle * this.columns + this.r_column[i], i);
      const element = this.r_m[i] * this.n + this.r_n[i];
      if (!this.resultsOf.has(element)) this.resultsOf.set(element, []);
      this.resultsOf.get(element).push(i);
    });
    for (let t = 1; t < this.cycles; t++) this.left[t] += this.left[t - 1];
  }
  /** What will stay, by the row that it enters; `place` of `many` that enter in one cycle. */
  indexLoads() {
    const abreast = new Map();
    this.loadsOf = Array.from({ length: this.rows }, () => []);
    this.l_cycle.forEach((enters, i) => {
      const lane = this.l_lane[i];
      const group = enters * this.rows + lane;
      if (!abreast.has(group)) abreast.set(group, { many: 0 });
      const beside = abreast.get(group);
      const [column, value] = [this.l_column[i], this.l_value[i]];
      this.loadsOf[lane].push({ enters, column, value, place: beside.many++, beside });
    });
  }
  /** The index of a PE at a cycle in the arrays. */
  at(t, k, m) {
    return t * this.per + k * this.columns + m;
  }
  /** The number that a PE has in a plane of numbers. */
  value(plane, t, k, m) {
    return number(plane, this.at(t, k, m));
  }
  has(bit, t, k, m) {
    return (this.state[this.at(t, k, m)] & bit) > 0;
  }
  /** The result that leaves a column at a cycle: its index, or undefined. */
  resultAt(t, m) {
    return this.resultIn.get(t * this.columns + m);
  }
  /** The element of dst whose sum a PE holds at a cycle: {m, n}, or null. */
  sumOf(t, k, m) {
    const bits = this.state[this.at(t, k, m)];
    if (this.keepsSums && bits & STAYS) return { m, n: k };
    if (!(bits & (this.keepsSums ? LEAVES : DOWN))) return null;
    const i = this.resultAt(t + this.rows - 1 - k, m);
    return i === undefined ? null : { m: this.r_m[i], n: this.r_n[i] };
  }
  /** The weight (or the sum) that stays in a PE, or null. */
  stayAt(t, k, m) {
    if (!this.has(STAYS, t, k, m)) return null;
    const isPerCycle = this.stays.length > this.per;
    return this.value(this.stays, isPerCycle ? t : 0, k, m);
  }
  /** The cycles up to `t` in which a PE multiplies. */
  worksIn(k, m, t = this.cycles - 1) {
    const found = [];
    for (let s = 0; s <= t; s++) if (this.has(WORKS, s, k, m)) found.push(s);
    return found;
  }
  isLoading(t) {
    return this.loads.some(([start, length]) => t >= start && t < start + length);
  }
  /** What PSUM holds after a result: sums in the order of their cycles. */
  accumulate(before, i) {
    return this.r_adds[i] ? Math.fround(before + this.r_value[i]) : this.r_value[i];
  }
}
