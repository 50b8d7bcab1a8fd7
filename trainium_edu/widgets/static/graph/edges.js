// Edges between the rows that show, and the lanes in which they run down beside them.

const REACH = 9; // rows: a longer edge is drawn only for the row that is looked at
export const MOST_LANES = 8;

/** Every pair of places of which one reads the other: `{ from, to, far }`, each once, in order. */
export function edgesOf(nodes, places) {
  const seen = new Set();
  const edges = [];
  nodes.forEach(({ inputs }, k) => {
    for (const input of inputs) {
      const [from, to] = [places[input], places[k]];
      const key = from * 65_536 + to;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      edges.push({ from, to, far: to < from || to - from > REACH });
    }
  });
  return edges.sort((a, b) => a.to - b.to || a.from - b.from);
}

/**
 * The lane of each place: a value keeps its lane until its last near reader, which takes it over.
 * A place that is skipped (an open layer, drawn as its parts) has no lane.
 */
export function lanesOf(count, edges, isSkipped = () => false) {
  const last = Int32Array.from({ length: count }, (_, place) => place);
  const inputs = Array.from({ length: count }, () => []);
  for (const { from, to, far } of edges) {
    if (far) continue;
    last[from] = Math.max(last[from], to);
    inputs[to].push(from);
  }
  const lanes = new Int32Array(count);
  const until = []; // per lane: the place at which it is free again
  for (let place = 0; place < count; place++) {
    if (isSkipped(place)) continue;
    const taken = inputs[place].filter((from) => last[from] === place).map((from) => lanes[from]);
    const isFree = (lane) => (until[lane] ?? 0) <= place;
    let lane = taken.length ? Math.min(...taken) : 0;
    if (!taken.length) while (!isFree(lane) && lane < MOST_LANES - 1) lane++;
    lanes[place] = lane;
    until[lane] = Math.max(last[place], place + 1);
  }
  return lanes;
}
