// A run so far as Python sends it: loss and agreement of every step, accuracy now and then.

import { pairsOf } from "../shared/bytes.js";

export class RunData {
  /** `loss` float32[steps]; `points` float32[n, 2]: step, accuracy; `differ` bits[steps, ranks];
   *  `earlier`: the runs before, stretched so that passes lie above passes. */
  constructor({ passes = 0, name = "", earlier = [], ...given }) {
    const { loss, ranks } = given;
    Object.assign(this, { ...given, passes, name, earlier });
    this.done = loss.length;
    this.rowBytes = Math.ceil(ranks / 8);
  }
  /** Whether a rank's weights differ from most others' after a step. */
  differs(step, rank) {
    if (step < 0) return false;
    return ((this.differ[step * this.rowBytes + (rank >> 3)] >> (7 - (rank & 7))) & 1) === 1;
  }
  /** The ranks that differ after a step. */
  differing(step) {
    return [...Array(this.ranks).keys()].filter((rank) => this.differs(step, rank));
  }
  /** The first step after which not all ranks agree, or -1. */
  get firstSplit() {
    const byte = this.differ.findIndex((bits) => bits !== 0);
    return byte < 0 ? -1 : Math.floor(byte / this.rowBytes);
  }
  /** The last accuracy known at a step: [step, accuracy], or null. */
  accuracyAt(step) {
    return this.accuracies.findLast(([at]) => at <= step + 1) ?? null;
  }
  get accuracies() {
    return pairsOf(this.points);
  }
}
