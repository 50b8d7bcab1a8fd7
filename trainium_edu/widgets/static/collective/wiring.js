// Chips, their ranks, and the cables between them, as Python packed them.

import { unpack } from "../shared/bytes.js";

export class Wiring {
  constructor(bytes) {
    Object.assign(this, { wires: [], links: [], down: [] }, unpack(bytes));
    this.linkCount = this.links.length / 3;
    this.wireCount = this.wires.length / 2;
  }
  chipOf(rank) {
    return Math.floor(rank / this.ranks_per_chip);
  }
  ranksOf(chip) {
    const first = chip * this.ranks_per_chip;
    return Array.from({ length: this.ranks_per_chip }, (_, j) => first + j);
  }
  /** A directed link: the chips it leads from and to, and its wire. */
  link(k) {
    const [from, to, wire] = this.links.subarray(3 * k, 3 * k + 3);
    return { from, to, wire };
  }
  /** The ends of a wire. */
  ends(wire) {
    return this.wires.subarray(2 * wire, 2 * wire + 2);
  }
  linksOn(wire) {
    return [...Array(this.linkCount).keys()].filter((k) => this.links[3 * k + 2] === wire);
  }
}
