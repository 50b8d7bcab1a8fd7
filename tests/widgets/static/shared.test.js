// What all players stand on: time, keys, colours, bytes, questions, words.  Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Asker } from "../../../trainium_edu/widgets/static/shared/asking.js";
import { unpack } from "../../../trainium_edu/widgets/static/shared/bytes.js";
import { letterOn, luminance } from "../../../trainium_edu/widgets/static/shared/canvas.js";
import { ARROWS, answerKey, nextPoint } from "../../../trainium_edu/widgets/static/shared/keys.js";
import { onChange } from "../../../trainium_edu/widgets/static/shared/life.js";
import { anchorAt } from "../../../trainium_edu/widgets/static/shared/svg.js";
import { Clock, ease } from "../../../trainium_edu/widgets/static/shared/time.js";
import {
  listed,
  lossText,
  many,
  plain,
} from "../../../trainium_edu/widgets/static/shared/words.js";

test("a clock moves at its speed and stops at its end", () => {
  const clock = new Clock(11, 4);
  clock.speed = 2;
  clock.start(1);
  clock.pass(0.125); // 4 frames a second, twice as fast
  assert.equal(clock.position, 1);
  clock.pass(60); // a tab that slept: a quarter of a second
  assert.equal(clock.position, 3);
  for (let i = 0; i < 10; i++) clock.pass(0.25);
  assert.deepEqual([clock.position, clock.direction], [10, 0]);
});

test("a clock that starts at its end begins at the other one", () => {
  const clock = new Clock(5, 1);
  clock.start(-1);
  assert.equal(clock.position, 4);
  clock.start(1);
  assert.equal(clock.position, 0);
});

test("a step from between two frames leads to the next whole one", () => {
  const clock = new Clock(5, 1);
  for (const [from, by, to] of [
    [1.5, 1, 2],
    [1.5, -1, 1],
    [2, 1, 3],
    [2, -1, 1],
    [0, -1, 0],
    [4, 1, 4],
  ]) {
    clock.seek(from);
    clock.step(by);
    assert.equal(clock.position, to, `${from} ${by}`);
  }
});

test("ease runs from 0 to 1, symmetric about the middle, never back", () => {
  assert.deepEqual([ease(0), ease(0.5), ease(1)], [0, 0.5, 1]);
  for (let t = 0; t < 1; t += 0.01) {
    assert.ok(Math.abs(ease(t) + ease(1 - t) - 1) < 1e-12);
    assert.ok(ease(t + 0.01) > ease(t));
  }
});

test("an arrow leads to the nearest point ahead, and nowhere at the edge", () => {
  const grid = [0, 1, 2].flatMap((y) => [0, 1, 2].map((x) => [20 * x, 20 * y]));
  assert.equal(nextPoint(grid, 4, ARROWS.ArrowLeft), 3);
  assert.equal(nextPoint(grid, 4, ARROWS.ArrowRight), 5);
  assert.equal(nextPoint(grid, 4, ARROWS.ArrowUp), 1);
  assert.equal(nextPoint(grid, 4, ARROWS.ArrowDown), 7);
  assert.equal(nextPoint(grid, 0, ARROWS.ArrowLeft), -1);
});

test("a key is taken when it has an action, and left alone with Control or without one", () => {
  const taken = [];
  const event = (key, more = {}) => ({
    key,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    ...more,
    preventDefault: () => taken.push("default"),
    stopPropagation: () => taken.push("bubbling"),
  });
  assert.ok(answerKey(event("k"), { k: () => taken.push("action") }));
  assert.deepEqual(taken, ["default", "bubbling", "action"]);
  assert.ok(!answerKey(event("k", { ctrlKey: true }), { k: assert.fail }));
  assert.ok(!answerKey(event("toString"), { k: assert.fail })); // not a key of its own
  assert.equal(taken.length, 3);
});

test("luminance is that of WCAG, and letters reach its contrast of 4.5 on every colour", () => {
  assert.equal(luminance("#000000"), 0);
  assert.ok(Math.abs(luminance("#ffffff") - 1) < 1e-12);
  assert.ok(Math.abs(luminance("#808080") - 0.21586) < 1e-5);
  for (const colour of ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]) {
    const [a, b] = [luminance(colour), letterOn(colour) === "#000" ? 0 : 1];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    assert.ok(contrast >= 4.5, `${colour} ${contrast}`);
  }
});

test("bytes are unpacked as they were laid out", () => {
  const places = { a: ["u8", 0, 3], b: ["f32", 4, 2] };
  let header = JSON.stringify({ name: "x", arrays: places });
  header += " ".repeat((8 - ((4 + header.length) % 4)) % 4);
  const bytes = new Uint8Array(4 + header.length + 12);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(new TextEncoder().encode(header), 4);
  bytes.set([1, 2, 3], 4 + header.length);
  bytes.set(new Uint8Array(new Float32Array([0.5, -2]).buffer), 8 + header.length);
  const { name, a, b } = unpack(bytes);
  assert.deepEqual([name, [...a], [...b]], ["x", [1, 2, 3], [0.5, -2]]);
});

/** A model as anywidget gives one, that keeps what was sent. */
function fakeModel(traits) {
  const [listeners, sent] = [new Set(), []];
  return {
    listeners,
    sent,
    get: (name) => traits[name],
    set: (name, value) => (traits[name] = value),
    save_changes: () => sent.push(structuredClone(traits)),
    on: (event, action) => listeners.add(`${event} ${action.name}`),
    off: (event, action) => listeners.delete(`${event} ${action.name}`),
  };
}

test("one question is under way, and of those behind it only the newest is asked", () => {
  const model = fakeModel({ view: { x: 0 } });
  const asker = new Asker(model, "view", 60_000);
  for (const x of [1, 2, 3]) asker.ask({ x });
  assert.deepEqual(model.sent, [{ view: { x: 1, ask: 1 } }]);
  assert.ok(asker.isBehind);
  model.set("view", { x: 1 });
  asker.take(); // what Python answers is older than what is still to be sent
  assert.equal(asker.values.x, 3);
  asker.answered();
  assert.deepEqual(model.sent.at(-1), { view: { x: 3, ask: 2 } });
  asker.answered();
  assert.equal(model.sent.length, 2);
  assert.equal(asker.waiting, null);
});

test("what listens to traits stops listening", () => {
  const model = fakeModel({});
  const stop = onChange(model, { "a b": function draw() {} });
  assert.deepEqual([...model.listeners], ["change:a draw", "change:b draw"]);
  stop();
  assert.equal(model.listeners.size, 0);
});

test("words and numbers read as people write them", () => {
  assert.deepEqual([many(1, "hop"), many(2, "hop")], ["1 hop", "2 hops"]);
  assert.equal(listed([1, 2, 3, 4, 5, 6, 7]), "1, 2, 3, 4, 5 … 7");
  assert.equal(listed([1, 2, 3]), "1, 2, 3");
  assert.deepEqual([plain(0.003), plain(1 / 3), plain(1234.5, 2)], ["0.003", "0.333", "1200"]);
  const losses = [0.12345, 1.2345, 12.345, 123.45, NaN];
  assert.deepEqual(losses.map(lossText), ["0.123", "1.23", "12.3", "123", "—"]);
  assert.deepEqual(
    [1, 50, 99].map((x) => anchorAt(x, 100, 20)),
    ["start", "middle", "end"],
  );
});
