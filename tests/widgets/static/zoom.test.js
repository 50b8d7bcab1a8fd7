// The zoom's camera and what is under the pointer.  Judges: closed forms.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Camera } from "../../../trainium_edu/widgets/static/zoom/camera.js";
import {
  WIDE,
  coreAt,
  fade,
  partAt,
  placesOf,
  rectOf,
} from "../../../trainium_edu/widgets/static/zoom/places.js";

const FILE = new URL("../../../trainium_edu/widgets/zoom.json", import.meta.url);
const DRAWN = JSON.parse(readFileSync(FILE, "utf-8")).levels;
const PLACES = placesOf(DRAWN, { cores: 2 });
const LEVELS = Object.keys(PLACES);
const near = (a, b) => a.every((v, i) => Math.abs(v - b[i]) < 1e-6 * Math.max(1, Math.abs(b[i])));

test("every frame has the shape of the picture, and its parts lie in the picture", () => {
  for (const { inside, ...places } of Object.values(PLACES)) {
    if (inside) assert.ok(Math.abs(inside[2] / inside[3] - 1.6) < 1e-9);
    for (const [x, y, w, h] of Object.values(places))
      assert.ok(x >= 0 && y >= 0 && x + w <= 1600 && y + h <= 1000);
  }
});

test("a flight begins with the whole level and ends where its frame fills the picture", () => {
  for (const key of LEVELS.slice(0, -1)) {
    assert.ok(near(rectOf(PLACES[key], 0, 800), [0, 0, 800, 500]));
    const [x, y, w] = rectOf(PLACES[key], 1, 800);
    const k = w / WIDE;
    const [px, py, pw, ph] = PLACES[key].inside;
    assert.ok(near([x + px * k, y + py * k, pw * k, ph * k], [0, 0, 800, 500]), key);
  }
});

test("halfway through a flight the scale is the geometric mean, and one point stands still", () => {
  const [px, , pw] = PLACES.chip.inside;
  const fixed = px / (1 - pw / WIDE); // in the level's units
  for (const f of [0, 0.25, 0.5, 1]) {
    const [x, , w] = rectOf(PLACES.chip, f, 1600);
    assert.ok(Math.abs(w - 1600 * (WIDE / pw) ** f) < 1e-6);
    assert.ok(Math.abs(x + (fixed * w) / WIDE - fixed) < 1e-6);
  }
});

test("the smallest part under the pointer is meant, and the frame leads further in", () => {
  assert.equal(partAt(PLACES.chip, 584, 280), "inside");
  assert.equal(partAt(PLACES.chip, 1000, 280), "cores");
  assert.equal(partAt(PLACES.chip, 1400, 500), "hbm"); // the other one
  assert.equal(partAt(PLACES.chip, 350, 880), "links");
  assert.equal(partAt(PLACES.chip, 5, 5), "");
  assert.equal(partAt(PLACES.element, 595, 545), "times");
});

test("cores of every chip lie apart, in its frame's shape, and the first one leads further in", () => {
  for (const cores of [1, 2, 4, 8]) {
    const places = placesOf(DRAWN, { cores });
    const { inside, cores: all } = places.chip;
    assert.ok(Math.abs(inside[2] / inside[3] - 1.6) < 1e-9);
    const boxes = Array.from({ length: cores }, (_, n) => coreAt(n, cores));
    for (const [n, [x, y, w, h]] of boxes.entries()) {
      assert.ok(x >= all[0] && y >= all[1] && x + w <= all[0] + all[2] && y + h <= all[1] + all[3]);
      for (const [px, py] of boxes.slice(0, n)) assert.ok(x - px >= w || Math.abs(y - py) >= h);
    }
    assert.equal(partAt(places.chip, inside[0] + 1, inside[1] + 1), "inside");
    const [, , wide] = rectOf(places.chip, 1, WIDE);
    assert.ok(Math.abs((wide * inside[2]) / WIDE - WIDE) < 1e-6);
  }
});

test("a fade goes from 0 to 1 and stays there", () => {
  assert.deepEqual(
    [5, 10, 12.5, 15, 99].map((v) => fade(v, 10, 15)),
    [0, 0, 0.5, 1, 1],
  );
});

test("one level in or out leads to the nearest, and the camera stays on the ladder", () => {
  const said = [];
  const view = { moved: (z) => said.push(z), rests: (n) => said.push(`at ${n}`), flies() {} };
  const camera = new Camera(2, 5, view);
  assert.deepEqual([camera.outer, camera.inner], [1, 3]);
  camera.stayAt(2.4);
  assert.deepEqual([camera.outer, camera.inner, camera.goal], [2, 3, 2]);
  camera.stayAt(9);
  camera.z = 2.9996; // shown as 3.000 in the last frame before it comes to 3: 4 is next
  assert.deepEqual([camera.outer, camera.inner], [2, 4]);
  camera.z = 3.0004;
  assert.deepEqual([camera.outer, camera.inner], [2, 4]);
  assert.deepEqual(said, [2.4, "at 2", 5, "at 5"]);
});
