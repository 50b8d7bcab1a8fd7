// The number line, the bit editor, the dice, the training plots, the order of items: their pure
// parts.  Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { placeLabels } from "../../../trainium_edu/widgets/static/bit_editor/labels.js";
import {
  axisTicks,
  holding,
  snapped,
  zoomed,
} from "../../../trainium_edu/widgets/static/number_line/scale.js";
import { exchanged } from "../../../trainium_edu/widgets/static/prediction/inputs.js";
import {
  addRandomBits,
  inGap,
  leadingBits,
  stepFrom,
} from "../../../trainium_edu/widgets/static/rounding_explorer/carry.js";
import {
  sentences,
  signed,
  spaced,
} from "../../../trainium_edu/widgets/static/rounding_explorer/words.js";
import {
  curvePath,
  linear,
  logarithmic,
  lossRange,
} from "../../../trainium_edu/widgets/static/shared/plot.js";
import { upTo } from "../../../trainium_edu/widgets/static/training/film_plot.js";
import { Guesses } from "../../../trainium_edu/widgets/static/training/guesses.js";

test("ticks of an axis lie on multiples of 1, 2 or 5 times a power of ten, inside it", () => {
  for (const [lo, hi] of [
    [0, 1],
    [-3.7, 12.2],
    [1e-7, 3e-7],
    [1e9, 5e9],
  ]) {
    const ticks = axisTicks(lo, hi, 900);
    const step = ticks[1][0] - ticks[0][0];
    const lead = step / 10 ** Math.floor(Math.log10(step * 1.0001));
    assert.ok([1, 2, 5].some((k) => Math.abs(lead - k) < 1e-6));
    assert.ok(ticks.length >= 3 && ticks.every(([v]) => v >= lo && v <= hi * (1 + 1e-9)));
    for (const [v, text] of ticks) assert.ok(Math.abs(Number(text) - v) <= step / 100, text);
  }
});

test("x snaps to what a pixel can tell apart, the window follows it, and zooming keeps it", () => {
  const view = { x: 0.5, lo: 0, hi: 1 };
  assert.equal(snapped(0.123456, view, 1000), 0.123);
  assert.equal(snapped(0.0001, view, 1000), 0);
  assert.deepEqual(holding(0.5, view), { lo: 0, hi: 1 });
  assert.deepEqual(holding(1.25, view), { lo: 0.25, hi: 1.25 });
  assert.deepEqual(zoomed(view, 0.5), { lo: 0.25, hi: 0.75 });
  assert.equal(zoomed({ x: 1, lo: 1 - 1e-7, hi: 1 + 1e-7 }, 0.5), null);
  assert.equal(zoomed({ x: 0, lo: -2e38, hi: 2e38 }, 2), null);
});

test("labels stay in their width, the first come first, and none overlap", () => {
  const texts = [
    [0, "first"],
    [20, "hidden"],
    [100, "last"],
  ];
  const placed = placeLabels(texts, 100, 6, 4);
  assert.deepEqual(placed, [
    [15, "first"],
    [88, "last"],
  ]);
});

test("x is rounded up with the share of the way as probability; ties go to the even one", () => {
  const gap = { lower: 1, upper: 2, ticks: 8, tie_goes_up: false };
  assert.deepEqual(inGap(gap, 2), { p: 0.25, goesUp: false, value: 1.25 });
  assert.ok(!inGap(gap, 4).goesUp);
  assert.ok(inGap({ ...gap, tie_goes_up: true }, 4).goesUp);
});

test("random bits carry for exactly place of 65536 words, whatever is dropped", () => {
  for (const [count, ticks, place] of [
    [16, 65536, 3],
    [4, 16, 5],
    [20, 65536, 9],
  ]) {
    const lead = leadingBits(place, { dropped_bits: count, ticks });
    assert.equal(lead.length, 16);
    let carries = 0;
    for (let word = 0; word < 65536; word++) carries += addRandomBits(lead, word).carries;
    assert.equal(carries, (65536 * place) / ticks);
  }
  assert.deepEqual(addRandomBits("1111111111111111", 1), { bits: "0".repeat(16), carries: true });
});

test("keys step by a 128th of the gap, finely with Shift, and reach its ends", () => {
  assert.equal(stepFrom(100, 65536, { key: "ArrowRight" }), 612);
  assert.equal(stepFrom(100, 65536, { key: "ArrowLeft", shiftKey: true }), 99);
  assert.equal(stepFrom(100, 65536, { key: "End" }), 65535);
  assert.equal(stepFrom(100, 65536, { key: "q" }), undefined);
});

test("the dice are told with their mean, its error and what chance alone gives", () => {
  const gap = { lower: 0, upper: 4 };
  const told = sentences(gap, { p: 0.25, goesUp: false }, 100, 30);
  assert.ok(told.includes("Mean of 100 throws: 1.2, off by +5.00 % of the gap"));
  assert.ok(told.includes("about ±4.33 %")); // the root of p (1 - p) / n
  assert.ok(told.endsWith("Nearest-even is off by −25.00 % of the gap, every time."));
  assert.deepEqual([spaced(1234567), signed(-0.5)], ["1,234,567", "−50.00 %"]);
});

test("scales carry ends to ends, logarithms equal factors to equal distances", () => {
  const y = linear(0, 10, 100, 0);
  assert.deepEqual([y(0), y(5), y(10)], [100, 50, 0]);
  const log = logarithmic(0.1, 10, 100, 0);
  const values = [0.01, 0.1, 1, 10].map((v) => Math.round(1e6 * log(v)) / 1e6);
  assert.deepEqual(values, [100, 100, 50, 0]);
  const { low, high, ticks } = lossRange([0.05, NaN, 40], 0.1, 2);
  assert.deepEqual([low, high, ticks], [0.025, 80, [0.03, 0.1, 0.3, 1, 3, 10, 30]]);
});

test("curves are broken where there is no number", () => {
  const points = [
    [0, 1],
    [1, NaN],
    [2, 3],
    [3, 4],
  ];
  assert.equal(curvePath(points), "M0.0,1.0M2.0,3.0L3.0,4.0");
  assert.deepEqual(upTo([10, 20, 40], 1.5), [
    [0, 10],
    [1, 20],
    [1.5, 30],
  ]);
});

test("guesses know what is right, since when, and what has just turned right", () => {
  const guesses = new Guesses([9, 1, 7, 1, 7, 2, 7, 2], [7, 2]); // four frames of two images
  assert.deepEqual(guesses.rightPerFrame(), [0, 1, 2, 2]);
  assert.deepEqual([guesses.settled(0), guesses.settled(1)], [1, 2]);
  assert.equal(guesses.flash(1, 0, 0), 1);
  assert.equal(guesses.flash(2, 0.5, 0), 0.5);
  assert.equal(new Guesses([1], [2]).settled(0), -1);
});

test("two neighbours change places, and nothing leaves the list", () => {
  assert.deepEqual(exchanged(["a", "b", "c"], 1, 0), ["b", "a", "c"]);
  assert.equal(exchanged(["a", "b"], 1, 2), null);
});
