"""What needs no instruction goes, and every value stays.

Judges: the plan of the graph as recorded, bit for bit; closed forms of counts.
"""

import numpy as np

from tests.for_each import for_each, for_rows
from tests.xla.random_graphs import random_graph
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph, GraphError, Type
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.operations.table import OPERATIONS, constant_array
from trainium_edu.xla.passes import simplify

X = parameter(0, Type((4, 6), "float32"), "x")


def after(*outputs, parameters=(X,)):
    return simplify(Graph("test", parameters, outputs)).after


def operations(graph):
    return [node.operation for node in graph.nodes]


def number(value):
    return constant(np.full((1, 1), value))


@for_each("seed", range(40))
def test_values_stay_bit_for_bit(seed):
    graph, feeds = random_graph(seed)
    simple = simplify(graph).after
    if any(_rounds_otherwise(node) for node in graph.nodes):
        close = {"rtol": 1e-5, "atol": 1e-6}
    else:
        close = {"rtol": 0, "atol": 0}
    for wanted, found in zip(Plan(graph).run(feeds), Plan(simple).run(feeds), strict=True):
        np.testing.assert_allclose(found, wanted, **close)


def _rounds_otherwise(node):
    """x * a * b is the one rule that rounds once less; a turned product adds in BLAS's order."""
    return node.operation == "dot" or (
        node.operation == "multiply" and any(i.operation == "multiply" for i in node.inputs)
    )


@for_each("seed", range(20))
def test_simplifying_twice_changes_nothing(seed):
    once = simplify(random_graph(seed)[0]).after
    assert simplify(once).after is once


@for_each("neutral", [
        apply("add", X, number(0.0)), apply("add", number(0.0), X),
        apply("subtract", X, number(0.0)), apply("multiply", X, number(1.0)),
        apply("multiply", number(1.0), X), apply("divide", X, number(1.0)),
        apply("negate", apply("negate", X)), apply("cast", X, dtype="float32"),
        apply("reshape", apply("reshape", X, shape=(24,)), shape=(4, 6)),
        apply("transpose", apply("transpose", X, perm=(-1, -2)), perm=(-1, -2)),
        apply("transpose", X, perm=(-2, -1)), apply("broadcast", X, shape=(4, 6)),
    ], ids=lambda node: node.operation)  # fmt: skip
def test_what_changes_nothing_goes(neutral):
    assert after(neutral).outputs == (X,)


@for_each("kept", [
        apply("subtract", number(0.0), X), apply("divide", number(1.0), X),
        apply("add", X, constant(np.zeros((1, 1, 1)).reshape(1, 1) + 2.0)),
        apply("transpose", X, perm=(-1, -2)), apply("cast", X, dtype="bfloat16"),
    ], ids=lambda node: node.operation)  # fmt: skip
def test_what_changes_something_stays(kept):
    assert after(kept).outputs == (kept,)


def test_stretched_operands_are_stretched_by_who_reads_them():
    row = parameter(0, Type((1, 6), "float32"))
    wide = apply("add", row, constant(np.zeros((4, 1))))
    assert after(wide, parameters=(row,)).outputs == (wide,)
    row = parameter(1, Type((1, 6), "float32"))
    total = apply("add", X, apply("broadcast", row, shape=(4, 6)))
    assert operations(after(total, parameters=(X, row))) == ["parameter", "parameter", "add"]
    row, column = (parameter(i, Type(s, "float32")) for i, s in enumerate([(1, 6), (1, 6)]))
    wide = [apply("broadcast", x, shape=(4, 6)) for x in (row, column)]
    (found,) = after(apply("add", *wide), parameters=(row, column)).outputs
    assert found.shape == (4, 6)
    assert sum(i.operation == "broadcast" for i in found.inputs) == 1


def test_constants_are_computed_where_small_and_wide():
    small = apply("add", number(2.0), number(3.0))
    (found,) = after(small).outputs
    assert constant_array(found).tolist() == [[5.0]]
    large = apply("exp", constant(np.zeros((40, 40))))
    assert after(large).outputs == (large,)
    a = constant(np.full((1, 1), 1.0), "bfloat16")
    both = apply("add", a, a)
    assert after(both).outputs == (both,)
    twice = apply("multiply", apply("multiply", X, number(0.5)), number(4.0))
    graph = after(twice)
    assert operations(graph) == ["parameter", "constant", "multiply"]
    assert constant_array(graph.nodes[1]).tolist() == [[2.0]]


@for_rows("turned", (True, False), (False, True), (True, True))
def test_a_product_reads_turned_operands_as_they_lie(turned):
    lie = [(6, 4) if turned[0] else (4, 6), (5, 6) if turned[1] else (6, 5)]
    inputs = [parameter(i, Type((2, *shape), "float32")) for i, shape in enumerate(lie)]
    operands = [
        apply("transpose", x, perm=(-3, -1, -2)) if turn else x
        for x, turn in zip(inputs, turned, strict=True)
    ]
    product = apply("dot", *operands, turn_a=False, turn_b=False)
    graph = after(product, parameters=tuple(inputs))
    assert operations(graph) == ["parameter", "parameter", "dot"]
    assert (graph.outputs[0].of["turn_a"], graph.outputs[0].of["turn_b"]) == turned


def test_a_turn_of_other_axes_stays_in_front_of_a_product():
    x = parameter(0, Type((4, 2, 6), "float32"))
    moved = apply("transpose", x, perm=(-2, -3, -1))
    product = apply("dot", moved, moved, turn_a=False, turn_b=True)
    assert "transpose" in operations(after(product, parameters=(x,)))


def takes_two_numbers(name):
    try:
        return OPERATIONS[name].is_elementwise and bool(apply(name, X, X))
    except (GraphError, TypeError):  # of one operand, of three, or with attributes
        return False


@for_each("name", list(filter(takes_two_numbers, OPERATIONS)))
def test_an_operand_is_stretched_for_an_operation_that_takes_one_type(name):
    """As the gradient of a sum, behind a relu."""
    one = parameter(1, Type((1, 1), "float32"))
    node = apply(name, apply("broadcast", one, shape=(4, 6)), X)
    graph = Graph("test", (X, one), (node,))
    feeds = [np.arange(24, dtype=np.float32).reshape(4, 6) - 9, np.full((1, 1), 2.0, np.float32)]
    found = Plan(simplify(graph).after).run(feeds)
    np.testing.assert_array_equal(found, Plan(graph).run(feeds))


def test_parameters_that_nothing_reads_stay_parameters():
    unread = parameter(1, Type((3,), "float32"))
    graph = after(apply("add", X, number(0.0)), parameters=(X, unread))
    assert graph.parameters == (X, unread)
