// The training monitor's pure parts: a step's moments and traffic, a run's agreement, the words.
// Judges: closed forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { timeTicks } from "../../../trainium_edu/widgets/static/monitor/lanes.js";
import { RunData } from "../../../trainium_edu/widgets/static/monitor/run_data.js";
import {
  StepFilm,
  firstMoment,
  positionAt,
  timeAt,
} from "../../../trainium_edu/widgets/static/monitor/step_film.js";
import {
  agreementText,
  momentText,
  runText,
  sharesText,
  stepText,
} from "../../../trainium_edu/widgets/static/monitor/words.js";

/** Bytes as Python packs them: the header's length, the header, float64 arrays. */
function packed(header, arrays) {
  const table = {};
  let offset = 0;
  for (const [name, values] of Object.entries(arrays)) {
    table[name] = ["f64", offset, values.length];
    offset += 8 * values.length;
  }
  let text = JSON.stringify({ ...header, arrays: table });
  text += " ".repeat((8 - ((4 + text.length) % 8)) % 8);
  const bytes = new Uint8Array(4 + text.length + offset);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(new TextEncoder().encode(text), 4);
  const all = Object.values(arrays).flat();
  bytes.set(new Uint8Array(Float64Array.from(all).buffer), 4 + text.length);
  return bytes;
}

/** Engines work from 0 to 8 µs; one sum of two steps, 4 to 10 µs overlapped, 8 to 14 µs not. */
const film = new StepFilm(
  packed(
    { names: ["backward", "sum"], bills: [0], chips: 2, switches: 0, ranks_per_chip: 1 },
    {
      on_ns: [0, 8000, 4000, 10000],
      on_name: [0, 1],
      on_track: [0, 1],
      on_exposed: [8000, 10000],
      off_ns: [0, 8000, 8000, 14000],
      off_name: [0, 1],
      off_track: [0, 1],
      off_exposed: [8000, 14000],
      wires: [0, 1],
      links: [0, 1, 0, 1, 0, 0],
      ends_0: [1, 3],
      bytes_0: [1024, 512, 0, 2048],
    },
  ),
);

test("a step's lengths are those of its spans", () => {
  assert.equal(film.on.end, 10000);
  assert.equal(film.off.end, 14000);
  assert.equal(film.on.exposedNs, 2000);
  assert.equal(film.off.linksNs, 6000);
});

test("a bill's steps are stretched to the span", () => {
  assert.deepEqual(film.on.moments, [0, 4000, 6000, 8000, 10000]);
  assert.deepEqual(film.off.moments, [0, 8000, 10000, 14000]);
});

test("at each moment links carry what the bill says of the step that begins there", () => {
  assert.equal(film.trafficAt(film.on, 3999), null);
  const first = film.trafficAt(film.on, 4000);
  assert.deepEqual([first.step, first.part, first.most, first.links], [0, 0, 1024, 2]);
  assert.deepEqual([first.heatOf(0), first.heatOf(1)], [0.5, 0.25]);
  const second = film.trafficAt(film.on, 6000);
  assert.deepEqual([second.step, second.steps, second.most, second.links], [1, 2, 2048, 1]);
  assert.equal(film.trafficAt(film.on, 8000).part, 0.5);
  assert.equal(film.trafficAt(film.on, 6000 - 1e-6).part, 0); // an end, as rounding finds it
  assert.equal(film.trafficAt(film.on, 10000), null);
});

test("a position among moments and its time lead to each other", () => {
  const { moments } = film.on;
  for (const position of [0, 0.25, 1, 2.5, 4]) {
    assert.ok(Math.abs(positionAt(moments, timeAt(moments, position)) - position) < 1e-9);
  }
  assert.equal(positionAt(moments, -5), 0);
  assert.equal(positionAt(moments, 99999), 4);
});

test("the cursor opens in the middle of the first sum", () => {
  assert.equal(firstMoment(film.on), 7000);
  assert.equal(firstMoment({ buckets: [] }), 0);
});

test("a step and its moments are told with their numbers", () => {
  assert.equal(
    stepText(film.on, true),
    "One step takes 10 µs with overlap: 6 µs of communication in 1 bucket, 2 µs of it exposed.",
  );
  assert.match(stepText({ buckets: [], end: 5000 }, true), /5 µs, without communication/);
  assert.equal(
    momentText(film, film.on, 6000),
    "6 µs: backward · sum 1, step 2 of 2: 1 link with up to 2 KiB",
  );
  assert.equal(momentText(film, film.off, 1000), "1 µs: backward · links idle");
  assert.match(momentText(film, film.off, 9000), /engines wait · sum 1, step 1 of 2/);
});

/** Three steps of ten ranks; after the second one rank 9 differs, after the third 0 and 9. */
const run = new RunData({
  loss: Float32Array.of(2, 1, 0.5),
  points: Float32Array.of(2, 0.75),
  differ: Uint8Array.of(0, 0, 0, 0b01000000, 0b10000000, 0b01000000),
  ranks: 10,
  planned: 5,
});

test("ranks that differ are bits, the first rank the highest", () => {
  assert.deepEqual(
    [0, 1, 2].map((step) => run.differing(step)),
    [[], [9], [0, 9]],
  );
  assert.equal(run.firstSplit, 1);
  assert.equal(agreementText(run, 0), "all 10 replicas are equal, bit for bit");
  assert.equal(agreementText(run, 1), "rank 9 differs from the others, since step 2");
  assert.equal(agreementText(run, 2), "ranks 0, 9 differ from the others, since step 2");
});

test("an accuracy is known from the step on after which it was measured", () => {
  assert.equal(run.accuracyAt(0), null);
  assert.deepEqual(run.accuracyAt(1), [2, 0.75]);
  assert.equal(runText(run, 0), "After step 1 of 5: loss 2.00.");
  assert.equal(runText(run, 2), "After step 3 of 5: loss 0.500, test accuracy 75.0 % (step 2).");
});

test("engines are told with their shares", () => {
  const shares = [
    ["Tensor Engine", 0.0192],
    ["DMA", 0.5],
  ];
  assert.equal(sharesText(shares), "Tensor Engine 1.9 % · DMA 50.0 %");
  assert.equal(sharesText([]), "");
});

test("time ticks are about five round numbers", () => {
  assert.deepEqual(timeTicks(283_000), [0, 100_000, 200_000]);
  assert.deepEqual(timeTicks(100), [0, 20, 40, 60, 80, 100]);
});
