// Lanes and memories of a small run, and what is under a point.  Judges: hand-made numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  hitLane,
  layOutLanes,
  neighbour,
} from "../../../trainium_edu/widgets/static/explorer/lane_layout.js";
import { loadByColumn } from "../../../trainium_edu/widgets/static/explorer/lane_spans.js";
import {
  hitTile,
  layOutMemories,
  nextTile,
  niceTop,
  yOf,
} from "../../../trainium_edu/widgets/static/explorer/memory_layout.js";
import { TimeWindow } from "../../../trainium_edu/widgets/static/explorer/time_window.js";
import { film, view } from "./small_run.js";

const shown = { critical: true, queues: false, ports: false };

test("lanes stand below each other: the path, engines, queues as one or each", () => {
  const plan = layOutLanes(film(), shown);
  assert.deepEqual(
    plan.lanes.map((l) => [l.name, l.y]),
    [
      ["Critical path", 24],
      ["Tensor", 53],
      ["DMA", 83],
    ],
  );
  assert.deepEqual(plan.laneOf, [1, 2, 2, -1]);
  assert.deepEqual([...plan.lanes[2].spans.row], [0]); // once, however many queues
  const all = layOutLanes(film(), { critical: false, queues: true, ports: true });
  assert.deepEqual(
    all.lanes.map((l) => l.kind),
    ["engine", "queue", "queue", "port"],
  );
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
