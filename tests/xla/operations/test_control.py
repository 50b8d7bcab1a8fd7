"""Control flow in graphs.  Judges: Python's own loops and branches; times of the unrolled graph."""

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from tests.xla.operations.cases import lowered, values
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Graph, GraphError, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.operations.control import item

ROWS, COUNT, BOOL = Type((4, 3), "float32"), Type((), "int32"), Type((), "bool")


def newton(most=30, rows=ROWS):
    """Return (x, limit) -> (square root of x by Newton's method, turns): count to the limit."""
    kinds = (rows, rows, COUNT, COUNT)
    x, guess, turn, limit = state = tuple(parameter(i, kind) for i, kind in enumerate(kinds))
    condition = Graph("goes_on", state, (apply("less", turn, limit),))
    half = constant(np.full((1,) * rows.rank, 0.5), rows.dtype)
    better = apply("multiply", half, apply("add", guess, apply("divide", x, guess)))
    body = Graph("better", state, (x, better, apply("add", turn, constant(1, "int32")), limit))
    start, wanted = parameter(0, rows), parameter(1, COUNT)
    node = apply(
        "while", start, start, constant(0, "int32"), wanted, condition=condition, body=body,
        most=most,
    )  # fmt: skip
    return Graph("newton", (start, wanted), (item(node, 1), item(node, 2)))


def python_newton(x, turns):
    guess = x
    for _ in range(turns):
        guess = np.float32(0.5) * (guess + x / guess)
    return guess


X = np.random.default_rng(0).uniform(1, 9, ROWS.shape).astype(np.float32)


@for_rows("turns", 0, 1, 7)
def test_a_while_runs_as_long_as_its_condition_holds(turns):
    got, count = values(newton(), [X, np.int32(turns)])
    np.testing.assert_array_equal(got, python_newton(X, turns))
    assert count == turns


@for_rows("turns", 0, 1, 3)
def test_instructions_make_as_many_turns(turns):
    (_, (got, count)) = lowered(newton(), [X, np.int32(turns)])
    np.testing.assert_allclose(got, python_newton(X, turns), rtol=1e-6)
    assert count == turns


def test_each_replica_makes_its_own_number_of_turns():
    limits = np.int32([2, 0, 5])
    got, count = values(newton(), [X, limits], replicas=3)
    for one, turns in zip(got, limits, strict=True):
        np.testing.assert_array_equal(one, python_newton(X, turns))
    np.testing.assert_array_equal(count, limits)


def test_state_may_change_places():
    a, b, n = state = tuple(parameter(i, t) for i, t in enumerate((ROWS, ROWS, COUNT)))
    condition = Graph("odd", state, (apply("greater", n, constant(0, "int32")),))
    body = Graph("swap", state, (b, a, apply("subtract", n, constant(1, "int32"))))
    node = apply("while", a, b, n, condition=condition, body=body, most=9)
    graph = Graph("swaps", state, (item(node, 0), item(node, 1)))
    for turns in (2, 3):
        feeds = [X, 2 * X, np.int32(turns)]
        want = [X, 2 * X][:: -1 if turns % 2 else 1]
        for found in (values(graph, feeds), lowered(graph, feeds)[1]):
            np.testing.assert_array_equal(found, want)


def test_a_while_keeps_its_bound_and_has_no_gradient():
    with pytest.raises(RuntimeError, match=r"while at .*still holds after 3 turns.*most="):
        values(newton(most=3), [X, np.int32(4)])
    values(newton(most=3), [X, np.int32(3)])
    graph = newton(most=None)
    np.testing.assert_array_equal(values(graph, [X, np.int32(2)])[0], python_newton(X, 2))
    raises(GraphError, r"while at .*states no bound", duration, graph)
    graph = newton()
    with pytest.raises(GraphError, match=r"while at .* has no gradient"):
        gradients(graph.outputs[0], graph.parameters[:1], parameter(9, ROWS))


def duration(graph):
    core = NeuronCore(values=False)
    lower(graph, core)
    return measure(core.program).makespan_ns


def test_a_while_is_timed_by_its_bound():
    rows = Type((512, 512), "float32")
    short, long = (duration(newton(most, rows)) for most in (4, 12))
    assert 2.5 < long / short < 3.5


def test_every_turn_rounds_with_other_bits():
    """A hundred additions of a third of a spacing: nearest never moves, stochastic does."""
    kind = Type((2000,), "bfloat16")
    x, n = state = (parameter(0, kind), parameter(1, COUNT))
    step = constant(np.full(1, 2.0**-7 / 3), "bfloat16")
    condition = Graph("goes_on", state, (apply("less", n, constant(100, "int32")),))
    body = Graph("add", state, (apply("add", x, step), apply("add", n, constant(1, "int32"))))
    node = apply("while", x, n, condition=condition, body=body, most=None)
    plan, feeds = Plan(Graph("sum", state, (item(node, 0),))), [np.ones(2000, "f4"), np.int32(0)]
    (nearest,) = plan.run(feeds)
    (drawn,) = plan.run(feeds, Setting("stochastic", seed=1))
    assert (nearest == 1).all()
    assert drawn.mean() == pytest.approx(1 + 100 * 2.0**-7 / 3, rel=0.01)
    assert len(np.unique(drawn)) > 10


def branches(rows=ROWS):
    """Return (predicate, x) -> exp(x) a few times, or 2 x."""
    x = parameter(0, rows)
    slow = x
    for _ in range(4):
        slow = apply("tanh", slow)
    yes, no = Graph("slow", (x,), (slow,)), Graph("fast", (x,), (apply("add", x, x),))
    predicate, given = parameter(0, BOOL), parameter(1, rows)
    return predicate, given, yes, no


def cond(swapped=False, rows=ROWS):
    predicate, given, yes, no = branches(rows)
    yes, no = (no, yes) if swapped else (yes, no)
    node = apply("cond", predicate, given, on_true=yes, on_false=no)
    return Graph("cond", (predicate, given), (item(node, 0),))


def test_a_cond_runs_one_branch():
    predicate, _, _, no = branches()
    i = parameter(1, Type((1,), "int32"))
    bad = Graph("bad", (i,), (apply("gather", constant(np.ones(3)), i),))
    good = Graph("good", (i,), (apply("cast", i, dtype="float32"),))
    node = apply("cond", predicate, i, on_true=bad, on_false=good)
    graph = Graph("guard", (predicate, i), (item(node, 0),))
    assert values(graph, [np.array(False), np.int32([7])])[0] == 7
    raises(IndexError, "index 7", values, graph, [np.array(True), np.int32([7])])
    assert no.name == "fast"


@for_rows("swapped", False, True)
def test_a_cond_is_timed_by_its_longer_branch(swapped):
    rows = Type((512, 512), "float32")
    given = parameter(0, rows)
    slow = given
    for _ in range(4):
        slow = apply("tanh", slow)
    alone = duration(Graph("slow", (given,), (slow,)))
    assert duration(cond(swapped, rows)) == pytest.approx(alone, rel=1e-9)


def test_inner_graphs_are_text_and_json():
    graph = newton()
    assert all(name in str(graph) for name in ("%better.", "%goes_on."))
    again = Graph.from_json(graph.to_json())
    assert again.fingerprint == graph.fingerprint
    np.testing.assert_array_equal(values(again, [X, np.int32(3)])[0], python_newton(X, 3))
