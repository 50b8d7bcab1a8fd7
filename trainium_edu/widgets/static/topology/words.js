// What the topology explorer says: pure.

import { many } from "../shared/words.js";

export const cableName = (wire) => `cable ${wire.join(" – ")}`;

/** The chips on a way and its hops; with hypercube addresses, in how many bits its ends differ. */
export function tellWay(way, addresses = null) {
  const text = `${way.join(" → ")}: ${many(way.length - 1, "hop")}.`;
  if (!addresses) return text;
  const [p, q] = [addresses[way[0]], addresses[way.at(-1)]];
  const flips = [...p].filter((bit, i) => bit !== q[i]).length;
  return `${text} Hypercube addresses ${p} and ${q} differ in ${many(flips, "bit")}.`;
}
