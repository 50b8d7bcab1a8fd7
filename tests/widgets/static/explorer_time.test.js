// The explorer's axis of time, its spans, shades and words.  Judges: closed forms and brute force.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Shades } from "../../../trainium_edu/widgets/static/explorer/shades.js";
import {
  chains,
  eachVisible,
  sortedSpans,
  spanAt,
  upper,
} from "../../../trainium_edu/widgets/static/explorer/spans.js";
import {
  GUTTER,
  TimeWindow,
  ticks,
} from "../../../trainium_edu/widgets/static/explorer/time_window.js";
import * as words from "../../../trainium_edu/widgets/static/shared/words.js";

function windowOf(lo, hi, end = 1000, width = 500) {
  return Object.assign(new TimeWindow(), { lo, hi, end, width });
}
const random = (
  (state) => () =>
    (state = (state * 16807) % 2147483647) / 2147483647
)(7);

test("pixels and time are each other's inverse", () => {
  const view = windowOf(100, 350);
  assert.equal(view.x(100), GUTTER);
  assert.equal(view.x(350), GUTTER + 500);
  for (const t of [100, 173.25, 349]) assert.ok(Math.abs(view.t(view.x(t)) - t) < 1e-9);
});

test("a zoom divides the span and leaves its point where it is", () => {
  const view = windowOf(200, 600);
  const x = view.x(300);
  view.zoom(4, 300);
  assert.equal(view.span, 100);
  assert.ok(Math.abs(view.x(300) - x) < 1e-9);
  view.zoom(1 / 4, 300);
  assert.deepEqual([view.lo, view.hi], [200, 600]);
});

test("the window stays inside the run, and a tenth of a nanosecond wide", () => {
  const view = windowOf(0, 1000);
  view.show(900, 1300);
  assert.deepEqual([view.lo, view.hi], [600, 1000]);
  view.show(-50, 50);
  assert.deepEqual([view.lo, view.hi], [0, 100]);
  view.show(-1e6, 1e6);
  assert.ok(view.isWhole);
  view.zoom(1e9, 500);
  assert.ok(Math.abs(view.span - 0.1) < 1e-9);
});

test("of another timing the whole stays whole, and a part keeps its length", () => {
  const view = windowOf(0, 1000);
  view.setEnd(400);
  assert.deepEqual([view.lo, view.hi], [0, 400]);
  view.show(300, 380);
  view.setEnd(200);
  assert.deepEqual([view.lo, view.hi], [120, 200]);
  view.setEnd(900);
  assert.deepEqual([view.lo, view.hi], [120, 200]);
});

test("steps of an axis are 1, 2 or 5 times a power of ten, and the least of them", () => {
  for (let least = 0.013; least < 1e7; least *= 1.37) {
    const step = words.roundStep(least);
    const lead = Number(step.toExponential(6).split("e")[0]);
    assert.ok([1, 2, 5, 10].includes(lead), `${least}: ${step}`);
    assert.ok(step >= 0.999 * least && step < 2.51 * least);
  }
});

test("ticks lie in the window, apart, and say what they are", () => {
  const all = ticks(windowOf(0, 1000));
  assert.deepEqual(
    all.map(([, text]) => text),
    ["0", "200 ns", "400 ns", "600 ns", "800 ns", "1000 ns"],
  );
  const late = ticks(windowOf(2500, 2500.5, 9999));
  assert.equal(late[1][1], "2.5001 µs");
  for (const [ns, text] of late) assert.ok(Math.abs(parseFloat(text) * 1e3 - ns) < 1e-6);
});

test("upper is the number of values that are not above", () => {
  const values = Float64Array.from({ length: 50 }, () => Math.floor(20 * random())).sort();
  for (let x = -1; x <= 21; x += 0.5)
    assert.equal(upper(values, x), values.filter((v) => v <= x).length);
});

test("what is visible is what overlaps, also a long span far to the left", () => {
  const starts = Array.from({ length: 200 }, () => 1000 * random());
  const ends = starts.map((t, i) => t + (i % 17 ? 5 : 600) * random());
  const spans = sortedSpans([...starts.keys()], starts, ends);
  const seen = new Set();
  eachVisible(spans, { lo: 400, hi: 450 }, (i) => spans.end[i] > 400 && seen.add(spans.row[i]));
  const wanted = [...starts.keys()].filter((i) => ends[i] > 400 && starts[i] < 450);
  assert.deepEqual([...seen].sort(), wanted.sort());
  assert.ok(spans.start.every((t, k) => !k || t >= spans.start[k - 1]));
});

test("the span at a moment, or the nearest within reach", () => {
  const spans = sortedSpans([0, 1, 2], [0, 10, 40], [8, 30, 50]);
  const at = (t, slack) => spanAt(spans, t, slack);
  assert.deepEqual([at(4, 1), at(20, 1), at(9.4, 1), at(8.4, 1)], [0, 1, 1, 0]);
  assert.deepEqual([at(35, 3), at(38, 3), at(60, 3)], [-1, 2, -1]);
});

test("chains list the entries of each row in their order", () => {
  const { of, first } = chains(3, [2, 0, 2, -1, 2]);
  assert.deepEqual([of(0), of(1), of(2)], [[1], [], [0, 2, 4]]);
  assert.deepEqual([...first], [1, -1, 0]);
});

test("shades say how much of each pixel is covered", () => {
  const shades = new Shades();
  shades.begin(20);
  for (const [a, b] of [
    [-5, 1],
    [2.5, 3],
    [3, 3.25],
    [6, 9.5],
    [19.5, 90],
  ])
    shades.add(a, b);
  assert.deepEqual(shades.take(), [
    [0, 1, 1],
    [2, 3, 0.5],
    [3, 4, 0.25],
    [6, 9, 1],
    [9, 10, 0.5],
    [19, 20, 0.5],
    [20, 21, 1], // behind the edge, where the clip ends
  ]);
  assert.deepEqual(shades.take(), []);
});

test("times, moments, bytes and shares as people read them", () => {
  const { nsText, momentText, bytesText, percent, shortened } = words;
  assert.deepEqual(
    [0.5, 999.4, 999.6, 22_840, 123_456, 1e6, 12_345_678].map((t) => nsText(t)),
    ["0.5 ns", "999 ns", "1 µs", "22.8 µs", "123 µs", "1 ms", "12.3 ms"],
  );
  assert.equal(nsText(22_843, 4), "22.84 µs");
  assert.equal(momentText(1234.5, 100), "1.2345 µs");
  assert.deepEqual([0, 100, 1536, 24 * 2 ** 20, -2048].map(bytesText), [
    "0 B",
    "100 B",
    "1.5 KiB",
    "24 MiB",
    "−2 KiB",
  ]);
  assert.deepEqual([0, 0.004, 0.0994, 0.0996, 1].map(percent), [
    "0 %",
    "0.4 %",
    "9.9 %",
    "10 %",
    "100 %",
  ]);
  assert.deepEqual(
    [shortened("tensor", 6), shortened("tensor", 5), shortened("tensor", 3, 3)],
    ["tensor", "tens…", ""],
  );
});
