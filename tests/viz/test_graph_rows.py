"""Rows of a described graph.  Judges: sums and unions written out by hand, and set arithmetic."""

import copy

import pytest

from tests.for_each import for_rows
from tests.viz.graphs import mlp, vit
from trainium_edu.viz.graph_rows import ENGINES, rows_of


def described(*operations, recorded=None):
    """Return a description of operations `(letter, scope, start, end, inputs)`, in order."""
    places = {key: k for k, (key, *_) in enumerate(operations)}
    nodes = [
        {
            "id": places[key], "operation": "add", "type": "f32[4]", "scope": scope,
            "inputs": [places[i] for i in inputs], "line": "a.py:1", "text": "", "section": 0,
            "start_ns": start, "end_ns": end,
            "engine_ns": {"vector": end - start}, "bytes": 8, "flops": 4, "roofline_ns": 1.0,
            "stands_for": [places[key]],
        }
        for key, scope, start, end, inputs in operations
    ]  # fmt: skip
    kept = ("id", "operation", "type", "inputs", "scope", "line")
    return {
        "name": "small", "total_ns": 100.0, "flops": 4 * len(nodes), "hbm_bytes": 8 * len(nodes),
        "nodes": nodes, "recorded": recorded or [{k: n[k] for k in kept} for n in nodes],
        "passes": [], "advice": [],
    }  # fmt: skip


def outline(rows):
    return [(row.level, row.name, row.phase) for row in rows]


def test_scopes_become_layers_inside_phases_in_order_of_execution():
    graph = described(
        ("a", "forward/encoder/attention", 0, 1, ()), ("b", "forward/encoder", 1, 2, "a"),
        ("c", "encoder/attention/backward", 2, 3, "b"), ("d", "", 3, 4, ()),
        ("e", "norm", 4, 5, ()), ("f", "", 0, 0, ()),
    )  # fmt: skip
    graph["nodes"][-1]["operation"] = "parameter"
    assert outline(rows_of(graph)["compiled"].rows) == [
        (0, "inputs", "inputs"), (1, "parameter", "inputs"), (0, "forward", "forward"),
        (1, "encoder", "forward"), (2, "attention", "forward"), (3, "add", "forward"),
        (2, "add", "forward"), (1, "norm", "forward"), (2, "add", "forward"),
        (0, "backward", "backward"), (1, "encoder", "backward"), (2, "attention", "backward"),
        (3, "add", "backward"), (0, "step", "step"), (1, "add", "step"),
    ]  # fmt: skip


def test_what_reads_nothing_stands_before_its_first_reader():
    graph = described(
        ("w", "forward/b", 0, 0, ()), ("x", "forward/a", 0, 0, ()), ("y", "forward/a", 0, 1, "x"),
        ("z", "forward/b", 1, 2, "yw"), ("u", "forward/b", 2, 3, "zw"), ("n", "forward/c", 3, 3, ())
    )  # fmt: skip
    rows = rows_of(graph)["compiled"].rows
    assert [row.name for row in rows if row.node < 0] == ["forward", "a", "b", "c"]
    assert [row.node for row in rows if row.node >= 0] == [1, 2, 0, 3, 4, 5]


def test_times_add_up_where_operations_overlap():
    graph = described(
        (1, "forward/a", 0, 10, ()), (2, "forward/b", 5, 20, ()), (3, "forward/a", 8, 15, ()),
        (4, "forward/a", 15, 50, ()), (5, "backward", 20, 20, ()),
    )  # fmt: skip
    rows = rows_of(graph)["compiled"].rows
    took = {row.node: row.ns for row in rows if row.node >= 0}
    assert took == {0: 10, 2: 5, 1: 5, 3: 30, 4: 0}
    forward, layer = rows[:2]
    assert (forward.ns, layer.ns) == (50, 45)
    assert layer.engine_ns[ENGINES.index("vector")] == 10 + 7 + 35
    assert (layer.operations, layer.flops, layer.bytes) == (3, 12, 24)


@for_rows("make", mlp, vit)
def test_every_operation_stands_in_one_row_and_sums_agree(make):
    graph = make()
    for side, given in (("compiled", graph["nodes"]), ("recorded", graph["recorded"])):
        found = rows_of(graph)[side]
        leaves = [row.node for row in found.rows if row.node >= 0]
        assert sorted(leaves) == list(range(len(given)))
        tops = [row for row in found.rows if row.level == 0]
        assert sum(row.operations for row in tops) == len(given)
        assert [row.end for row in tops[:-1]] == [found.rows.index(row) for row in tops[1:]]
    tops = [row for row in rows_of(graph)["compiled"].rows if row.level == 0]
    assert sum(row.ns for row in tops) == pytest.approx(graph["total_ns"])
    assert sum(row.flops for row in tops) == pytest.approx(graph["flops"])


def test_recorded_operations_know_what_they_became():
    graph = mlp()
    sides = rows_of(graph)
    for k, node in enumerate(sides["compiled"].nodes):
        assert node["others"] == graph["nodes"][k]["stands_for"]
        assert all(k in sides["recorded"].nodes[i]["others"] for i in node["others"])
    removed = described((1, "", 0, 1, ()))
    removed["recorded"].append(removed["recorded"][0] | {"id": 1})
    assert rows_of(removed)["recorded"].nodes[1]["others"] == []


def test_the_description_given_is_left_as_it_is():
    graph = mlp()
    before = copy.deepcopy(graph)
    rows_of(graph)
    assert graph == before
