// The graph explorer's rows, edges and words.  Judges: small graphs by hand, and brute force.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_LANES, edgesOf, lanesOf } from "../../../trainium_edu/widgets/static/graph/edges.js";
import { State } from "../../../trainium_edu/widgets/static/graph/state.js";
import * as tree from "../../../trainium_edu/widgets/static/graph/tree.js";
import * as words from "../../../trainium_edu/widgets/static/graph/words.js";

const work = { engine_ns: [2, 1], bytes: 4, flops: 8 };
const layer = (name, level, end, ns = 10) => ({
  ...work,
  name,
  level,
  end,
  ns,
  node: -1,
  phase: name,
});
const leaf = (node, level, end, ns = 1) => ({ name: "op", level, end, ns, node, phase: "forward" });
const op = (inputs, others) => ({ operation: "op", id: "1", type: "f32[2]", inputs, others });

// forward { a { 0, 1 }, b { 2 } }, backward { 3 }; 0 -> 1 -> 2 -> 3, and 0 -> 3
const compiled = () => ({
  rows: [
    layer("forward", 0, 6, 30),
    layer("a", 1, 4),
    leaf(0, 2, 3),
    leaf(1, 2, 4),
    layer("b", 1, 6),
    leaf(2, 2, 6),
    layer("backward", 0, 8, 20),
    leaf(3, 1, 8),
  ],
  nodes: [op([], [0]), op([0], [0, 1]), op([1], []), op([2, 0], [])],
});
const recorded = () => ({
  rows: [layer("forward", 0, 3, 0), leaf(0, 1, 2, 0), leaf(1, 1, 3, 0)],
  nodes: [op([], [0, 1]), op([0], [1])],
});
const state = (advice = []) =>
  new State(
    { compiled: compiled(), recorded: recorded(), engines: ["tensor"], advice, total_ns: 45 },
    {},
  );

test("only rows below open layers show", () => {
  const graph = tree.indexed(compiled());
  const shown = (...open) => tree.visibleRows(graph, new Set(open));
  assert.deepEqual(shown(), [0, 6]);
  assert.deepEqual(shown(0, 6), [0, 1, 4, 6, 7]);
  assert.deepEqual(shown(1), [0, 6]); // open inside a closed one
  assert.deepEqual(shown(0, 1, 4, 6), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("layers lead from an operation outwards, and a path back", () => {
  const graph = tree.indexed(compiled());
  assert.deepEqual(tree.around(graph, graph.rowOf[1]), [1, 0]);
  assert.deepEqual(tree.pathOf(graph, graph.rowOf[1]), ["forward", "a", "op"]);
  assert.deepEqual(graph.users, [[1, 3], [2], [3], []]);
});

test("first the longest layers open, and no more rows than fit", () => {
  const graph = tree.indexed(compiled());
  const count = (most) => tree.visibleRows(graph, tree.firstOpen(graph, most)).length;
  assert.equal(count(1), 2);
  assert.deepEqual([...tree.firstOpen(graph, 4)], [0]);
  for (let most = 2; most < 10; most++) assert.ok(count(most) <= most);
  assert.equal(count(8), 8);
});

test("a closed layer stands for the operations in it", () => {
  const graph = tree.indexed(compiled());
  const places = (...open) =>
    Array.from(tree.placesOf(graph, tree.visibleRows(graph, new Set(open))));
  assert.deepEqual(places(), [0, 0, 0, 1]);
  assert.deepEqual(places(0), [1, 1, 2, 3]);
  assert.deepEqual(places(0, 1), [2, 3, 4, 5]);
});

test("edges join what shows, each once, and none within a row", () => {
  const { nodes } = compiled();
  const edges = (places) => edgesOf(nodes, places).map(({ from, to }) => [from, to]);
  assert.deepEqual(edges([0, 0, 0, 0]), []);
  assert.deepEqual(edges([0, 0, 0, 1]), [[0, 1]]);
  assert.deepEqual(edges([0, 1, 2, 3]), [
    [0, 1],
    [1, 2],
    [0, 3],
    [2, 3],
  ]);
  const far = edgesOf(nodes, [0, 1, 2, 30]);
  assert.deepEqual(
    far.map((edge) => edge.far),
    [false, false, true, true],
  );
});

test("a chain stays in one lane, and no edge runs through another row's dot", () => {
  const chain = Array.from({ length: 5 }, (_, k) => ({ from: k, to: k + 1, far: false }));
  assert.deepEqual(Array.from(lanesOf(6, chain)), [0, 0, 0, 0, 0, 0]);
  const edges = [
    [0, 3],
    [1, 3],
    [2, 4],
    [3, 4],
    [1, 5],
    [4, 6],
  ].map(([from, to]) => ({ from, to, far: false }));
  const lanes = lanesOf(7, edges);
  for (const { from, to } of edges) {
    for (let k = from + 1; k < to; k++)
      assert.notEqual(lanes[k], lanes[from], `${from}-${to}, ${k}`);
  }
});

test("rows that are skipped take no lane, and there are never too many", () => {
  const edges = Array.from({ length: 40 }, (_, k) => ({ from: k, to: k + 9, far: false }));
  assert.ok(Math.max(...lanesOf(60, edges)) < MOST_LANES);
  const joined = [{ from: 0, to: 2, far: false }];
  assert.deepEqual(Array.from(lanesOf(3, joined)), [0, 1, 0]);
  assert.deepEqual(Array.from(lanesOf(3, joined, (place) => place === 1)), [0, 0, 0]);
});

test("a choice in one graph lights what it stands for in the other, and counts it in its layers", () => {
  const s = state();
  s.picked = ["compiled", 1];
  s.light();
  assert.deepEqual(
    [...s.lit],
    [
      [3, 1],
      [1, 1],
      [0, 1],
    ],
  );
  s.side = "recorded";
  s.light();
  assert.deepEqual(s.about, [0, 1]);
  assert.deepEqual(
    [...s.lit],
    [
      [1, 1],
      [0, 2],
      [2, 1],
    ],
  );
  s.picked = ["recorded", 0];
  s.side = "compiled";
  assert.deepEqual(s.about, [0, 1]);
  s.picked = [];
  s.light();
  assert.equal(s.lit.size, 0);
});

test("advice lights its operations before a choice does, and opens the layers around them", () => {
  const s = state([{ nodes: [2, 3] }]);
  s.opens.compiled = new Set();
  s.picked = ["compiled", 0];
  s.advised = 0;
  s.light();
  assert.deepEqual(s.about, [2, 3]);
  assert.deepEqual([...s.open].sort(), [0, 4, 6]);
});

test("the whole step adds its phases up", () => {
  const s = state();
  assert.deepEqual(s.whole, { ns: 45, engine_ns: [4, 2], bytes: 8, flops: 16 });
});

test("a row has the colour of the engine that works longest", () => {
  const s = state();
  s.colours = ["blue", "orange"];
  assert.equal(s.colourOf({ engine_ns: [1, 2] }), "orange");
  assert.equal(s.colourOf({ engine_ns: [0, 0] }), "");
});

test("types, bounds, work and fates are said as people read them", () => {
  assert.deepEqual(words.typeFacts("bf16[16,197]"), [
    ["shape", "16 × 197"],
    ["dtype", "bf16"],
  ]);
  assert.deepEqual(words.typeFacts("f32[]")[0], ["shape", "one number"]);
  assert.deepEqual(words.typeFacts("(f32[2], s32[])"), [["type", "(f32[2], s32[])"]]);
  assert.equal(words.boundText(2600, 1000), "1 µs at best; the busiest engine works 2.6 × that");
  assert.equal(words.boundText(1000, 1000), "1 µs at best; at its bound");
  assert.equal(words.boundText(1000, 0), "");
  assert.equal(words.flopsText(2e9, 1e6), "2 GFLOP, 2.00 TFLOPS");
  assert.equal(words.flopsText(3000, 1000), "3 kFLOP, 3.00 GFLOPS");
  assert.equal(words.trafficText(4096, 1024), "4 KiB, 4.00 GB/s");
  const nodes = [{ operation: "fusion", id: "7" }];
  assert.equal(words.fateText([0], nodes), "in fusion 7");
  assert.equal(words.fateText([0, 1], nodes), "in fusion 7 and 1 more");
  assert.equal(words.fateText([], nodes), "removed");
  const passes = [{ name: "fuse", nodes_before: 1500, nodes_after: 380 }];
  assert.equal(words.passesText(passes, 1500), "1,500 operations recorded · fuse → 380");
});

test("a row is heard with its time, its share and what became of it", () => {
  const row = { name: "dot", ns: 250, operations: 1 };
  const node = { type: "f32[2]" };
  const told = words.rowText(row, node, { total: 1000, fate: "", isLit: true });
  assert.equal(told, "dot, f32[2], 250 ns, 25 % of the step, lit");
  const closed = { name: "mlp", ns: 0, operations: 2 };
  assert.equal(words.rowText(closed, undefined, { total: 1, fate: "" }), "mlp, 2 operations");
});
