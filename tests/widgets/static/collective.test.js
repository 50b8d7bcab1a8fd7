// A collective's film, its times and its words, and where things stand.  Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Film } from "../../../trainium_edu/widgets/static/collective/film.js";
import {
  Plan,
  beside,
  nearestCurve,
  onCurve,
} from "../../../trainium_edu/widgets/static/collective/plan.js";
import { sizesFor } from "../../../trainium_edu/widgets/static/collective/view.js";
import {
  chipStory,
  sentence,
  wireStory,
} from "../../../trainium_edu/widgets/static/collective/words.js";

/** Two chips exchange their halves of a sum over one wire: one step of 2 µs, one of 1 µs. */
const film = Object.assign(Object.create(Film.prototype), {
  steps: 2,
  ranks: 2,
  chips: 2,
  switches: 0,
  ranks_per_chip: 1,
  chunks: 2,
  full: 2,
  begin: 1000,
  total: 3000,
  step_ns: Float64Array.of(1000, 3000, 4000),
  step_notes: ["reduce", ""],
  wires: Uint16Array.of(0, 1),
  links: Uint16Array.of(0, 1, 0, 1, 0, 0),
  wireCount: 1,
  linkCount: 2,
  link_busy: Float32Array.of(1, 0.5, 0, 1),
  link_bytes: Float32Array.of(1024, 1024, 0, 2048),
  have: Uint8Array.of(1, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2),
  byStep: [[0, 1], [2]],
  msg_src: [0, 1, 1],
  msg_dst: [1, 0, 0],
  msg_adds: [1, 1, 0],
  msg_bytes: [1024, 1024, 2048],
  msg_chunks: Uint16Array.of(1, 0, 1),
  msg_chunks_start: [0, 1, 2, 3],
  msg_path: Uint16Array.of(0, 1, 1),
  msg_path_start: [0, 1, 2, 3],
  ending: "Every rank has the sum.",
});
const LAYOUT = {
  room: 0.1,
  xy: [
    [0, 0.5],
    [1, 0.5],
  ],
  bend: [[0, 0]],
};

test("time runs through a step in proportion, and back from a time to its position", () => {
  assert.equal(film.timeAt(0.5), 2000);
  assert.equal(film.timeAt(2), 4000);
  for (const p of [0, 0.25, 1, 1.5, 2]) assert.equal(film.positionAt(film.timeAt(p)), p);
  assert.equal(film.positionAt(0), 0);
  assert.equal(film.positionAt(1e9), 2);
});

test("a link's heat is its load now, or its mean by time until now", () => {
  assert.equal(film.heatNow(0, 0.5), 1);
  assert.equal(film.heatNow(0, 2), 0);
  assert.equal(film.heatSoFar(0, 0), 0);
  assert.equal(film.heatSoFar(0, 2), 2000 / 3000);
  assert.equal(film.heatSoFar(1, 1.5), (0.5 * 2000 + 500) / 2500);
});

test("a curve begins and ends where its wire does, and a lane lies to its right", () => {
  const curve = [
    [0, 0],
    [5, 10],
    [10, 0],
  ];
  assert.deepEqual(onCurve(curve, 0), [0, 0]);
  assert.deepEqual(onCurve(curve, 0.5), [5, 5]);
  assert.deepEqual(onCurve(curve, 1), [10, 0]);
  assert.deepEqual(beside(curve, 3), [
    [0, 3],
    [5, 13],
    [10, 3],
  ]);
  assert.equal(nearestCurve([curve], 5, 8), 0);
  assert.equal(nearestCurve([curve], 5, 30), -1);
});

test("chips stand where the drawing puts them; both lanes of a wire run beside it", () => {
  const plan = new Plan(film, LAYOUT, { width: 400, height: 300 });
  const edge = plan.half + 4;
  const right = edge + (400 - 2 * edge);
  assert.ok(Math.abs(plan.half - (0.1 * 300 * 1.16) / 2) < 1e-9);
  assert.deepEqual(plan.places, [
    [edge, 150],
    [right, 150],
  ]);
  assert.deepEqual(plan.lane(0)[0], [edge, 153.2]);
  assert.deepEqual(plan.lane(1)[0], [right, 146.8]);
  assert.deepEqual(plan.under(edge, 150), { kind: "chip", index: 0 });
  assert.deepEqual(plan.under(200, 152), { kind: "wire", index: 0 });
  assert.equal(plan.under(200, 20), null);
  const [x, y] = plan.onPath([0], 0.5);
  assert.ok(Math.abs(x - 200) < 1e-9 && Math.abs(y - 153.2) < 1e-9);
});

test("a drawing morphs from the one before to its own", () => {
  const mirrored = { ...LAYOUT, xy: [...LAYOUT.xy].reverse() };
  const at = (morph) => new Plan(film, mirrored, { width: 400, height: 300 }, LAYOUT, morph).places;
  assert.deepEqual(at(0), new Plan(film, LAYOUT, { width: 400, height: 300 }).places);
  assert.deepEqual(at(0.5)[0], [200, 150]);
  assert.deepEqual(at(1), new Plan(film, mirrored, { width: 400, height: 300 }).places);
});

test("pictures stand beside each other where there is room, and never wider than the page", () => {
  for (const width of [320, 759, 760, 1120]) {
    const { isWide, stage, cells, band } = sizesFor(width, 4);
    assert.equal(isWide, width >= 760);
    assert.equal(isWide ? stage.width + 12 + cells.width : stage.width, width);
    assert.equal(band.width, width);
  }
});

test("what happens is told in words", () => {
  const first = "Rank 0 sends chunk 1 (1 KiB) to rank 1, which adds it · 0 ns → 2 µs";
  assert.equal(sentence(film, 0), `Next, step 1 of 2 (reduce): 2 messages. ${first}`);
  assert.ok(sentence(film, 1.5).startsWith("Step 2 of 2: 1 message. Rank 1 sends chunk 1 (2 KiB)"));
  const end = "All 2 steps done after 3 µs. Every rank has the sum.";
  assert.equal(sentence(film, 2), end);
  const chip = chipStory(film, 0, 2);
  assert.equal(chip.head, "Chip 0.");
  assert.equal(chip.sum, "Sends 1 KiB and receives 3 KiB in all; holds 2 finished chunks now.");
  assert.deepEqual(chip.rows[1], [1, "gets chunk 1 from rank 1 and keeps it"]);
  const wire = wireStory(film, 0);
  const both =
    "0 → 1 carries 1 KiB, busy 67 % of the time; 1 → 0 carries 3 KiB, busy 67 % of the time.";
  assert.deepEqual([wire.head, wire.sum], ["Link 0 – 1.", both]);
  assert.deepEqual(wire.rows[1], [1, "1 → 0 chunk 1"]);
});
