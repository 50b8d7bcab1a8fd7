// The array's film, numbers, colours and places.  Judges: closed forms, IEEE 754 half precision.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DOWN,
  Film,
  STAYS,
  WORKS,
} from "../../../trainium_edu/widgets/static/systolic_array/film.js";
import {
  HalfCodes,
  fromHalf,
  number,
} from "../../../trainium_edu/widgets/static/systolic_array/half.js";
import {
  layoutFor,
  letterSize,
  nearness,
  peAt,
} from "../../../trainium_edu/widgets/static/systolic_array/layout.js";
import { placeMatrices } from "../../../trainium_edu/widgets/static/systolic_array/matrices.js";
import { short, shorter } from "../../../trainium_edu/widgets/static/systolic_array/numbers.js";
import { Operands } from "../../../trainium_edu/widgets/static/systolic_array/operands.js";
import {
  packed,
  shadeOf,
  shadesOn,
} from "../../../trainium_edu/widgets/static/systolic_array/palette.js";
import {
  lifeOf,
  tellCycle,
  tellPe,
} from "../../../trainium_edu/widgets/static/systolic_array/story.js";

test("half precision widens as IEEE 754 says", () => {
  for (const [code, value] of [
    [0x3c00, 1],
    [0xc000, -2],
    [0x7bff, 65504],
    [0x0001, 2 ** -24],
    [0x0400, 2 ** -14],
    [0x3555, 0.333251953125],
    [0x7c00, Infinity],
    [0xfc00, -Infinity],
    [0x8000, -0],
  ]) {
    assert.ok(Object.is(fromHalf(code), value), code.toString(16));
  }
  assert.ok(Number.isNaN(fromHalf(0x7e00)));
  assert.equal(number(HalfCodes.of(0x3c00), 0), 1);
  assert.equal(number(Float32Array.of(0.5), 0), 0.5);
});

test("numbers take at most five characters, and spellings grow shorter", () => {
  const values = [0, 1.234, -0.056, 12.34, -123.4, 9999, 12_345, 0.0012, -0.0012, NaN, -Infinity];
  const said = ["0", "1.23", "−0.06", "12.3", "−123", "9999", "1e4", "1e−3", "−1e−3", "NaN", "−∞"];
  assert.deepEqual(values.map(short), said);
  assert.deepEqual(shorter(-1.234), ["−1.23", "−1.23", "−1.2", "−1"]);
});

test("shades grow with a sum's size, one half for each sign, and the paper lies between", () => {
  assert.deepEqual(
    [-2, -1, 0, 1, 2].map((v) => shadeOf(v, 1)),
    [0, 0, 24, 48, 48],
  );
  for (let v = 0; v < 1; v += 0.1) assert.equal(shadeOf(v, 1) + shadeOf(-v, 1), 48);
  const shades = shadesOn([255, 255, 255], false);
  assert.deepEqual(shades[0], [71, 153, 200]); // 0.72 of the way to blue
  assert.deepEqual(shades[48], [237, 186, 71]);
});

test("a pixel holds opaque red, green, blue from the lowest byte up", () => {
  const pixel = packed(1, 2, 3);
  assert.deepEqual([...new Uint8Array(Uint32Array.of(pixel).buffer)], [1, 2, 3, 255]);
});

test("the array fits its page, and every PE is found at its own place", () => {
  for (const [rows, columns, width] of [
    [4, 4, 520],
    [8, 8, 300],
    [16, 16, 860],
    [128, 128, 600],
  ]) {
    const film = { rows, columns, isLarge: columns > 32, keepsSums: false };
    const box = layoutFor(width, film);
    assert.ok(box.width <= width);
    assert.ok(box.left + columns * box.cell <= box.width + 1e-9);
    assert.ok(box.top + rows * box.cell <= box.height);
    for (const [k, m] of [
      [0, 0],
      [rows - 1, columns - 1],
    ]) {
      const [x, y] = [box.left + (m + 0.5) * box.cell, box.top + (k + 0.5) * box.cell];
      assert.deepEqual(peAt(box, film, x, y), { k, m });
    }
    assert.equal(peAt(box, film, box.left - 1, box.top), null);
  }
  assert.ok(letterSize(20) <= letterSize(60));
  assert.deepEqual([nearness(-1, 4), nearness(2, 4), nearness(9, 4)], [1, 0.5, 0.25]);
});

test("matrices stand beside each other, or dst below where cells would be too small", () => {
  const [w, x, dst] = [
    { high: 4, wide: 4 },
    { high: 4, wide: 4 },
    { high: 4, wide: 4 },
  ];
  const wide = placeMatrices([w, x, dst], 460);
  assert.deepEqual(
    wide.places.map(([, y]) => y),
    [17, 17, 17],
  );
  assert.ok(wide.places[2][0] + 4 * wide.cell <= 460);
  const narrow = placeMatrices([w, x, dst], 170);
  assert.deepEqual(narrow.places[2], [1, 40 + 4 * narrow.cell]);
});

/** One PE that keeps weight 3 and multiplies 2 in cycle 1: w = [3], x = [2], dst = [6]. */
const film = Object.assign(Object.create(Film.prototype), {
  rows: 1,
  columns: 1,
  per: 1,
  cycles: 3,
  k: 1,
  m: 1,
  n: 1,
  exact: true,
  stayName: "weight",
  loads: [[0, 1]],
  state: Uint8Array.of(0, STAYS | WORKS | DOWN | 2, STAYS),
  stays: Float32Array.of(0, 3, 3),
  across: Float32Array.of(0, 2, 0),
  down: Float32Array.of(0, 6, 0),
  busy: [0, 1, 0],
  r_cycle: Uint32Array.of(1),
  r_column: [0],
  r_m: [0],
  r_n: [0],
  r_value: Float32Array.of(6),
  r_adds: [0],
  of_stays: Uint16Array.of(0, 1, 1),
  of_waiting: Uint16Array.of(0, 0, 0),
  of_across: Uint16Array.of(0, 1, 0),
});
film.indexResults();

test("a film knows what a PE holds, works on and sends", () => {
  assert.deepEqual(film.sumOf(1, 0, 0), { m: 0, n: 0 });
  assert.equal(film.sumOf(0, 0, 0), null);
  assert.deepEqual([film.stayAt(0, 0, 0), film.stayAt(1, 0, 0)], [null, 3]);
  assert.deepEqual(film.worksIn(0, 0), [1]);
  assert.deepEqual([...film.left], [0, 1, 1]);
});

test("the life of a result ends in PSUM with its value", () => {
  assert.deepEqual(lifeOf(film, 0, 0), [
    { t: 1, k: 0, column: 0, stage: "row 0", sum: 6, w: 3, x: 2 },
    { t: 2, k: -1, column: 0, stage: "PSUM", sum: 6 },
  ]);
});

test("a cycle and a PE are told in words", () => {
  const loading = "Cycle 0: 0 of 1 PEs multiply, 0 of 1 sums have left. Weights are being loaded.";
  assert.equal(tellCycle(film, 0, false), loading);
  assert.deepEqual(tellPe(film, 1, 0, 0), [
    "Holds the weight 3.",
    "0 from above + 3 × 2 = 6.",
    "That is part of dst[0, 0], row 1 of 1 on its way down.",
    "Multiplies in 1 of 3 cycles, from 1 to 1.",
  ]);
});

test("labels say where the elements of W, X and dst are", () => {
  const operands = new Operands(film);
  const at = (t) => Object.values(operands.whereabouts(t)).map((where) => where[0]);
  assert.deepEqual(
    [at(0), at(1), at(2)],
    [
      [0, 0, 0],
      [1, 1, 1],
      [1, 0, 0],
    ],
  );
  assert.deepEqual(operands.elementsIn(1, { k: 0, m: 0 }), { W: 0, X: 0, dst: 0 });
  assert.deepEqual(operands.holders(1, "X", 0), [{ k: 0, m: 0 }]);
  operands.fill(1);
  assert.deepEqual([operands.sums[0], operands.finished], [6, 1]);
});
