// Spans of time in typed arrays, sorted by start: found, walked and hit without looking at all.

/** First index whose value is above `x` in an ascending array. */
export function upper(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Sort the entries of `list`; `until` is the latest end so far, so that no long span is missed. */
export function sortedSpans(list, starts, ends, rows = null) {
  list.sort((a, b) => starts[a] - starts[b]);
  const start = Float64Array.from(list, (i) => starts[i]);
  const end = Float64Array.from(list, (i) => ends[i]);
  let latest = -Infinity;
  const until = end.map((t) => (latest = Math.max(latest, t)));
  return { start, end, until, row: Int32Array.from(list, (i) => (rows ? rows[i] : i)) };
}

/** Call `visit(index)` for each span that a window of time shows. */
export function eachVisible({ start, until }, { lo, hi }, visit) {
  for (let i = upper(until, lo); i < start.length && start[i] < hi; i++) visit(i);
}

const NEAR = 40; // spans looked at before the one that begins last

/** The span at a moment, or the nearest within `slack`; -1 if there is none. */
export function spanAt({ start, end }, t, slack) {
  const after = upper(start, t);
  let best = -1;
  let far = slack;
  for (let k = Math.min(start.length - 1, after); k >= 0 && k >= after - NEAR; k--) {
    const away = Math.max(0, start[k] - t, t - end[k]);
    if (away === 0) return k;
    if (away < far) [best, far] = [k, away];
  }
  return best;
}

/** Entries by row, as linked lists: `of(row)` is an array, `first[row]` an entry or -1. */
export function chains(rows, rowOf) {
  const first = new Int32Array(rows).fill(-1);
  const next = new Int32Array(rowOf.length).fill(-1);
  for (let i = rowOf.length - 1; i >= 0; i--) {
    if (rowOf[i] < 0) continue;
    next[i] = first[rowOf[i]];
    first[rowOf[i]] = i;
  }
  const of = (row) => {
    const list = [];
    for (let i = first[row]; i >= 0; i = next[i]) list.push(i);
    return list;
  };
  return { of, first, next };
}
