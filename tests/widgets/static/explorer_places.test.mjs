// Lanes, memories, lines and what is lit in a small run.  Judges: hand-made numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { indexFilm } from "../../../trainium_edu/widgets/static/explorer/film.js";
import {
  hitLane,
  layOutLanes,
  neighbour,
} from "../../../trainium_edu/widgets/static/explorer/lane_layout.js";
import { loadByColumn } from "../../../trainium_edu/widgets/static/explorer/lane_spans.js";
import { lighting } from "../../../trainium_edu/widgets/static/explorer/lighting.js";
import { timePerLine, wordsOf } from "../../../trainium_edu/widgets/static/explorer/line_times.js";
import {
  hitTile,
  layOutMemories,
  nextTile,
  niceTop,
  yOf,
} from "../../../trainium_edu/widgets/static/explorer/memory_layout.js";
import { resultText } from "../../../trainium_edu/widgets/static/explorer/result.js";
import { RunState } from "../../../trainium_edu/widgets/static/explorer/run_state.js";
import { TimeWindow } from "../../../trainium_edu/widgets/static/explorer/time_window.js";

// Rows: 0 a transfer on two queues (0 to 40), 1 a matmul (40 to 60), 2 another (80 to 100), which
// waited 20; one tile from 0 to 60, one from 40 to 100.  All is on the critical path but the wait.
const film = () =>
  indexFilm({
    makespan: 100,
    tracks: [["Tensor Engine", "tensor", "engine"], ["DMA queue 0", "dma", "queue"],
      ["DMA queue 1", "dma", "queue"], ["port: a on b", "sync", "port"]],
    busy: [40, 0, 0, 0],
    spans_start: [80, 40, 0, 10, 40], spans_end: [100, 60, 40, 30, 60],
    spans_track: [0, 0, 1, 2, 3], spans_row: [2, 1, 0, 0, 1],
    rows_start: Float64Array.of(0, 40, 80), rows_end: Float64Array.of(40, 60, 100),
    rows_instruction: Int32Array.of(0, 1, 2), rows_lane: Uint16Array.of(1, 0, 0),
    rows_critical: Uint8Array.of(1, 1, 1),
    waits_row: Int32Array.of(2), waits_ns: Float64Array.of(20),
    pieces_start: Float64Array.of(0, 40, 80), pieces_end: Float64Array.of(40, 60, 100),
    pieces_row: Int32Array.of(0, 1, 2), load_ns: [0, 10, 30, 40], load: [1, 2, 1, 0],
    memories: [{ capacity: 1000, high: 300 }, { capacity: 160, banks: 8, high: 20 }],
    tiles_memory: [0, 1], tiles_address: [0, 20], tiles_bytes: [300, 20],
    tiles_start: Float64Array.of(0, 40), tiles_end: Float64Array.of(60, 100),
    tiles_allocation: [0, 1],
  });
const book = () => ({
  lines: [{ line: 5 }, { line: 7 }, { line: 9 }],
  i_line: Int32Array.of(0, 1, 1), i_call: Int32Array.of(-1, 2, -1),
  a_first: Int32Array.of(0, 1, 3, 4), a_allocation: Int32Array.of(0, 0, 1, 1),
  allocations: [{ line: 0 }, { line: 2 }],
});
const view = Object.assign(new TimeWindow(), { hi: 100, end: 100, width: 500 });
const shown = { critical: true, queues: false, ports: false };

test("lanes stand below each other: the path, engines, queues as one or each", () => {
  const plan = layOutLanes(film(), shown);
  assert.deepEqual(plan.lanes.map((l) => [l.name, l.y]), [
    ["Critical path", 24], ["Tensor", 53], ["DMA", 83],
  ]);
  assert.deepEqual(plan.laneOf, [1, 2, 2, -1]);
  assert.deepEqual([...plan.lanes[2].spans.row], [0]); // once, however many queues
  const all = layOutLanes(film(), { critical: false, queues: true, ports: true });
  assert.deepEqual(all.lanes.map((l) => l.kind), ["engine", "queue", "queue", "port"]);
  for (const [k, lane] of all.lanes.entries())
    assert.ok(!k || lane.y >= all.lanes[k - 1].y + all.lanes[k - 1].height);
  assert.ok(all.height > all.lanes.at(-1).y + all.lanes.at(-1).height);
});

test("a point of a lane is its instruction, or whoever waited there", () => {
  const run = film();
  const plan = layOutLanes(run, shown);
  const at = (t, y) => hitLane(plan, run, view, view.x(t), y);
  assert.deepEqual(at(50, 60), { row: 1, piece: -1, tile: -1, idle: false });
  assert.equal(at(70, 60).row, 2); // waiting
  assert.equal(at(70, 60).idle, true);
  assert.equal(at(20, 60).row, -1);
  assert.deepEqual([at(90, 30).piece, at(90, 30).row], [2, 2]);
  assert.equal(at(70, 30).piece, -1);
  assert.equal(at(20, 90).row, 0);
  assert.equal(hitLane(plan, run, view, 50, 60).row, -1); // on the names
});

test("arrows go along a lane and to the nearest before in the next", () => {
  const run = film();
  const plan = layOutLanes(run, shown);
  const step = (row, sideways, down) => neighbour(plan, run, view, row, sideways, down);
  assert.equal(step(-1, 1, 0), 1); // the first
  assert.deepEqual([step(1, 1, 0), step(2, 1, 0), step(1, -1, 0)], [2, 2, 1]);
  assert.deepEqual([step(2, 0, 1), step(0, 0, -1), step(1, 0, -1)], [0, 1, 1]);
});

test("the load of a column is the mean number of queues at work", () => {
  const columns = loadByColumn(film(), Object.assign(new TimeWindow(), { hi: 20, width: 5 }));
  assert.deepEqual([...columns.slice(0, 5)], [1, 1, 1.5, 2, 2]);
});

test("a memory's scale is round, and its tiles are found where they are drawn", () => {
  for (let bytes = 70; bytes < 3e5; bytes *= 1.3) {
    const top = niceTop(bytes);
    assert.ok(top >= 1.06 * bytes && top < 1.6 * bytes + 64, `${bytes}: ${top}`);
    assert.equal(top % 2 ** Math.max(6, Math.floor(Math.log2(bytes)) - 1), 0);
  }
  const run = film();
  const plan = layOutMemories(run, { allMemory: false, y: 24 });
  const [sbuf, psum] = plan.boxes;
  assert.deepEqual([sbuf.top, psum.top, psum.y], [384, 160, 24 + 132 + 12]);
  assert.equal(yOf(sbuf, 0), sbuf.y + sbuf.height);
  const at = (box, t, byte) => hitTile(plan, run, view, view.x(t), yOf(box, byte));
  assert.deepEqual([at(sbuf, 30, 150), at(sbuf, 30, 350), at(sbuf, 80, 150)], [0, -1, -1]);
  assert.deepEqual([at(psum, 80, 30), at(psum, 30, 30), at(psum, 80, 60)], [1, -1, -1]);
  assert.deepEqual([nextTile(plan, -1, 1), nextTile(plan, 0, 1), nextTile(plan, 1, 1)], [0, 1, 1]);
});

test("a line lights what it issued, called, or made", () => {
  const lit = (chosen) => {
    const base = { film: film(), book: book(), line: -1, tile: -1, picked: -1 };
    const { lit, litTile } = lighting({ ...base, ...chosen });
    return [lit && [0, 1, 2].map(lit), litTile && [0, 1].map(litTile)];
  };
  assert.deepEqual(lit({}), [null, null]);
  assert.deepEqual(lit({ line: 1 }), [[false, true, true], [true, true]]);
  assert.deepEqual(lit({ line: 2 }), [[false, true, true], [false, true]]); // made tile 1
  assert.deepEqual(lit({ tile: 0 }), [[true, true, false], [true, false]]);
  assert.deepEqual(lit({ picked: 1 }), [null, [true, true]]);
  assert.deepEqual(lit({ picked: 2 }), [null, [false, true]]);
});

test("a line's time is that of its pieces, its own or in what it calls", () => {
  const { own, called } = timePerLine(book(), film());
  assert.deepEqual([[...own], [...called]], [[40, 40, 0], [0, 0, 20]]);
});

test("words of a line of Python add up to it, and say their kind", () => {
  const text = 'for i in range(128):  # "all"';
  const found = wordsOf(text);
  assert.equal(found.map(([word]) => word).join(""), text);
  assert.deepEqual(found.filter(([, kind]) => kind), [
    ["for", "keyword"], ["in", "keyword"], ["128", "number"], ['# "all"', "comment"],
  ]);
  assert.deepEqual(wordsOf("'#' + x1"), [["'#'", "string"], [" + x1", ""]]);
});

test("what is picked stays while the rows are the same, and is brought into view", () => {
  const s = new RunState({ colours: { sync: "#000" } });
  s.takeFilm(film());
  s.pick({ row: 2 });
  s.takeFilm({ ...film(), makespan: 200 });
  assert.equal(s.picked, 2);
  assert.equal(s.baseline, 100);
  s.view.show(0, 30);
  s.pick({ row: 2 });
  assert.deepEqual([s.view.lo, s.view.hi], [75, 105]);
  const fewer = film();
  fewer.rows_start = fewer.rows_start.slice(0, 2);
  s.takeFilm(fewer);
  assert.equal(s.picked, -1);
});

test("a result is compared with the first one", () => {
  assert.deepEqual(resultText({ makespan: 100 }, 100), ["100 ns", ""]);
  assert.deepEqual(resultText({ makespan: 50, band: [40, 60] }, 100), [
    "50 ns", " (between 40 ns and 60 ns): 2.00 × faster than before, 100 ns",
  ]);
  assert.match(resultText({ makespan: 150 }, 100)[1], /1\.50 × slower/);
});
