// A graph's rows, folded and unfolded: which of them show, and which one stands for an operation.

/** Index what Python sent: each row's layer, each operation's row. */
export function indexed({ nodes, rows }) {
  const parents = new Int32Array(rows.length).fill(-1);
  const rowOf = new Int32Array(nodes.length);
  const users = nodes.map(() => []);
  const layers = [];
  rows.forEach(({ level, node }, k) => {
    parents[k] = level > 0 ? layers[level - 1] : -1;
    layers[level] = k;
    if (node >= 0) rowOf[node] = k;
  });
  nodes.forEach(({ inputs }, k) => inputs.forEach((i) => users[i].push(k)));
  return { nodes, rows, parents, rowOf, users };
}

export const isLayer = (row) => row.node < 0;

/** The numbers of the rows that show while some layers (a set of rows) are open. */
export function visibleRows({ rows }, open) {
  const shown = [];
  for (let k = 0; k < rows.length; k = isLayer(rows[k]) && !open.has(k) ? rows[k].end : k + 1) {
    shown.push(k);
  }
  return shown;
}

/** The layers around a row, from the inside out. */
export function around({ parents }, row) {
  const found = [];
  for (let k = parents[row]; k >= 0; k = parents[k]) found.push(k);
  return found;
}

/** Open layers, the longest first and inputs last, while at most `most` rows show. */
export function firstOpen({ rows, parents }, most) {
  const open = new Set();
  let count = rows.filter(({ level }) => level === 0).length;
  const inside = new Int32Array(rows.length);
  parents.forEach((parent) => parent >= 0 && inside[parent]++);
  const layers = rows.map((_, k) => k).filter((k) => isLayer(rows[k]));
  const rank = ({ level, phase }) => (phase === "inputs" ? 1000 : level);
  layers.sort((a, b) => rank(rows[a]) - rank(rows[b]) || rows[b].ns - rows[a].ns);
  for (const k of layers) {
    if (count + inside[k] > most || (parents[k] >= 0 && !open.has(parents[k]))) continue;
    open.add(k);
    count += inside[k];
  }
  return open;
}

/** For each operation the place, among the rows that show, of the one that stands for it. */
export function placesOf({ rows, nodes }, shown) {
  const places = new Int32Array(nodes.length);
  shown.forEach((k, place) => {
    const next = shown[place + 1] ?? rows.length;
    for (let j = k; j < next; j++) if (rows[j].node >= 0) places[rows[j].node] = place;
  });
  return places;
}

/** The layers and operations down to a row, as a path. */
export const pathOf = (graph, row) =>
  [row, ...around(graph, row)].reverse().map((k) => graph.rows[k].name);
