// Turning in four dimensions, hit testing, morphing, ways.  Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Seen, wayOf } from "../../../trainium_edu/widgets/static/topology/scene.js";
import {
  between,
  distanceTo,
  seen,
} from "../../../trainium_edu/widgets/static/topology/turning.js";
import { tellWay } from "../../../trainium_edu/widgets/static/topology/words.js";

const HOME = { yaw: 0, pitch: 0, spin: 0 };
const isNear = (a, b) => a.every((v, i) => Math.abs(v - b[i]) < 1e-9);

test("what lies in the plane of the picture is seen where it is", () => {
  assert.deepEqual(seen([0.5, -0.25, 0, 0], HOME), [0.5, -0.25, 0, 1]);
});

test("a point at depth z is seen 6 / (6 - z) times as large, one at w 2.4 / (2.4 - w) times", () => {
  assert.ok(isNear(seen([1, 1, 1, 0], HOME), [6 / 5, 6 / 5, 1, 6 / 5]));
  assert.ok(isNear(seen([1, 1, 0, 1], HOME), [2.4 / 1.4, 2.4 / 1.4, 0, 1]));
});

test("a quarter turn carries one axis into the next", () => {
  const quarter = Math.PI / 2;
  const [x, y, depth] = seen([1, 0, 0, 0], { ...HOME, yaw: quarter });
  assert.ok(isNear([x, y, depth], [0, 0, -1]));
  assert.ok(isNear(seen([0, 1, 0, 0], { ...HOME, pitch: quarter }).slice(0, 3), [0, 0, 1]));
  const [u, v] = seen([1, 0, 0, 0], { ...HOME, spin: quarter }); // it has gone into the fourth
  assert.ok(isNear([u, v], [0, 0]));
});

test("turning by a yaw keeps the distance from the axis", () => {
  for (let yaw = 0; yaw < 7; yaw += 0.3) {
    const [x, , depth, near] = seen([0.6, 0.2, 0.3, 0], { ...HOME, yaw });
    assert.ok(Math.abs(Math.hypot(x / near, depth) - Math.hypot(0.6, 0.3)) < 1e-9);
  }
});

test("the distance from a line is that of Euclid, to its ends where it is over", () => {
  const bent = [
    [0, 0],
    [10, 0],
    [10, 10],
  ];
  assert.equal(distanceTo(bent, 5, 3), 3);
  assert.equal(distanceTo(bent, 12, 8), 2);
  assert.equal(distanceTo(bent, -3, 4), 5);
});

test("a drawing grows from one into another", () => {
  assert.deepEqual(between([0, 0], [2, 4], 0), [0, 0]);
  assert.deepEqual(between([0, 0], [2, 4], 0.5), [1, 2]);
  assert.deepEqual(between([0, 0], [2, 4], 1), [2, 4]);
});

const LINE = Array.from({ length: 13 }, (_, i) => [-0.6 + 0.1 * i, 0, 0, 0]);
const LAYOUT = {
  chips: [
    [-0.6, 0, 0, 0],
    [0.6, 0, 0, 0],
    [0.6, 0, -0.5, 0],
  ],
  cables: [LINE],
};

test("the nearest chip under the pointer is meant, else the cable, else nothing", () => {
  const picture = new Seen();
  picture.place(LAYOUT, LAYOUT, 1, HOME, { width: 400, height: 400 });
  assert.deepEqual(picture.under(...picture.chips[1]), { chip: 1, wire: -1 }); // before chip 2
  assert.deepEqual(picture.under(...picture.middles[0]), { chip: -1, wire: 0 });
  assert.deepEqual(picture.under(5, 5), { chip: -1, wire: -1 });
  assert.deepEqual(picture.chipsByDepth.at(0), 2);
  assert.ok(picture.halfOf(1) > picture.halfOf(2));
});

test("ways are looked up behind the machines before, by cut, start and end", () => {
  const scene = { begin: 5, chips: 2, most: 3 };
  const ways = new Uint8Array(5 + 2 * 2 * 2 * 3).fill(255);
  ways.set([1, 0], 5 + ((1 * 2 + 1) * 2 + 0) * 3); // cable 0 cut, from 1 to 0
  assert.deepEqual(wayOf(scene, ways, 1, 0, 0), [1, 0]);
  assert.deepEqual(wayOf(scene, ways, 0, 0, -1), []);
});

test("a way is told with its hops, and its addresses with the bits that differ", () => {
  assert.equal(tellWay([3, 2]), "3 → 2: 1 hop.");
  const told = tellWay([0, 1, 3], ["00", "01", "10", "11"]);
  assert.equal(told, "0 → 1 → 3: 2 hops. Hypercube addresses 00 and 11 differ in 2 bits.");
});
