// A collective as Python worked it out (viz/collective_film.py): states, messages, links, times. A
// position p in [0, steps] means: floor(p) steps are done and the next one is p's fraction of its
// way.

import { mix } from "../shared/time.js";
import { Wiring } from "./wiring.js";

export class Film extends Wiring {
  constructor(bytes) {
    super(bytes);
    this.byStep = Array.from({ length: this.steps }, () => []);
    this.msg_step.forEach((step, m) => this.byStep[step].push(m));
    this.begin = this.step_ns[0];
    this.total = this.step_ns[this.steps] - this.begin;
  }
  chunksOf(m) {
    return this.msg_chunks.subarray(this.msg_chunks_start[m], this.msg_chunks_start[m + 1]);
  }
  /** The links that a message crosses; none on one chip. */
  pathOf(m) {
    return this.msg_path.subarray(this.msg_path_start[m], this.msg_path_start[m + 1]);
  }
  /** How many parts of the sum a rank holds of a chunk; `full` when it is finished. */
  held(step, rank, chunk) {
    return this.have[(step * this.ranks + rank) * this.chunks + chunk];
  }
  value(step, rank, chunk) {
    return this.values[(step * this.ranks + rank) * this.chunks + chunk];
  }
  /** The share of a step that a link is busy. */
  load(step, link) {
    return this.link_busy[step * this.linkCount + link];
  }
  /** The steps that are done, and the one that is under way. */
  doneAt(position) {
    return Math.min(this.steps, Math.floor(position));
  }
  stepAt(position) {
    return Math.min(this.steps - 1, Math.floor(position));
  }
  timeAt(position) {
    const step = this.stepAt(position);
    return mix(this.step_ns[step], this.step_ns[step + 1], Math.min(1, position - step));
  }
  /** The position at a time. */
  positionAt(ns) {
    let step = 0;
    while (step < this.steps - 1 && this.step_ns[step + 1] <= ns) step++;
    const [from, to] = this.step_ns.subarray(step, step + 2);
    return step + Math.min(1, Math.max(0, (ns - from) / (to - from || 1)));
  }
  /** How busy a link is in the step under way: 0 to 1. */
  heatNow(link, position) {
    return position >= this.steps ? 0 : this.load(this.stepAt(position), link);
  }
  /** How busy a link has been on average: 0 to 1. */
  heatSoFar(link, position) {
    const now = this.timeAt(position);
    let busy = 0;
    for (let s = 0; s < this.steps && this.step_ns[s] < now; s++) {
      busy += this.load(s, link) * (Math.min(now, this.step_ns[s + 1]) - this.step_ns[s]);
    }
    return now > this.begin ? busy / (now - this.begin) : 0;
  }
}
