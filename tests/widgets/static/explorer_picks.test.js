// What is lit, said and kept when something of a small run is picked.  Judges: hand-made numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lighting } from "../../../trainium_edu/widgets/static/explorer/lighting.js";
import { timePerLine } from "../../../trainium_edu/widgets/static/explorer/line_times.js";
import { resultText } from "../../../trainium_edu/widgets/static/explorer/result.js";
import { RunState } from "../../../trainium_edu/widgets/static/explorer/run_state.js";
import { partOf } from "../../../trainium_edu/widgets/static/shared/pointing.js";
import { book, film } from "./small_run.js";

test("a word lights the instructions of its engine, whatever else is picked", () => {
  const run = film();
  run.tracks = [
    ["Vector Engine", "vector", "engine"],
    ["q0", "dma", "queue"],
  ];
  run.rows_lane = [1, 0, 1];
  const { lit } = lighting({ film: run, book: book(), line: 1, tile: -1, picked: -1, word: "dma" });
  assert.deepEqual([0, 1, 2].map(lit), [true, false, true]);
  assert.equal(partOf("#light=engine-dma", "engine"), "dma");
  assert.equal(partOf("#light=cable-0-3", "cable"), "0-3");
  assert.equal(partOf("#light=cable-0-3", "engine"), "");
  assert.equal(partOf(undefined, "engine"), "");
});

test("a line lights what it issued, called, or made", () => {
  const found = (chosen) => {
    const base = { film: film(), book: book(), line: -1, tile: -1, picked: -1 };
    const { lit, litTile } = lighting({ ...base, ...chosen });
    return [lit && [0, 1, 2].map(lit), litTile && [0, 1].map(litTile)];
  };
  assert.deepEqual(found({}), [null, null]);
  assert.deepEqual(found({ line: 1 }), [
    [false, true, true],
    [true, true],
  ]);
  assert.deepEqual(found({ line: 2 }), [
    [false, true, true],
    [false, true],
  ]); // made tile 1
  assert.deepEqual(found({ tile: 0 }), [
    [true, true, false],
    [true, false],
  ]);
  assert.deepEqual(found({ picked: 1 }), [null, [true, true]]);
  assert.deepEqual(found({ picked: 2 }), [null, [false, true]]);
});

test("a line's time is that of its pieces, its own or in what it calls", () => {
  const { own, called } = timePerLine(book(), film());
  assert.deepEqual(
    [[...own], [...called]],
    [
      [40, 40, 0],
      [0, 0, 20],
    ],
  );
});

test("what is picked stays while the rows are the same, and is brought into view", () => {
  const s = new RunState({ colours: { sync: "#000" } });
  s.book = book();
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
    "50 ns",
    " (between 40 ns and 60 ns): 2.00 × faster than before, 100 ns",
  ]);
  assert.match(resultText({ makespan: 150 }, 100)[1], /1\.50 × slower/);
});
