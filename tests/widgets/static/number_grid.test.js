// Characters in cells of pixels.  Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  eachPlace,
  inks,
  packed,
} from "../../../trainium_edu/widgets/static/number_grid/glyphs.js";

test("a pixel holds opaque red, green, blue from the lowest byte up", () => {
  const pixel = packed(1, 2, 3);
  assert.deepEqual([...new Uint8Array(Uint32Array.of(pixel).buffer)], [1, 2, 3, 255]);
});

test("ink goes from the colour behind to its own, and is mixed once per colour", () => {
  const inkOn = inks([255, 0, 100]);
  const on = inkOn([0, 0, 200]);
  assert.deepEqual([on[0], on[255]], [packed(0, 0, 200), packed(255, 0, 100)]);
  assert.equal(on[51], packed(51, 0, 180));
  assert.equal(inkOn([0, 0, 200]), on);
});

test("the first spelling that fits stands in the middle", () => {
  const glyphs = new Map([..."0.25…"].map((c) => [c, { advance: 4, c }]));
  const written = (spellings, right) => {
    const found = [];
    eachPlace(glyphs, spellings, 0, right, (glyph, x) => found.push([glyph.c, x]));
    return found;
  };
  assert.deepEqual(written(["0.25"], 20), [
    ["0", 2],
    [".", 6],
    ["2", 10],
    ["5", 14],
  ]);
  assert.deepEqual(written(["0.25", ".2"], 10), [
    [".", 1],
    ["2", 5],
  ]);
  assert.deepEqual(written(["0.25"], 10), [["…", 3]]);
});
