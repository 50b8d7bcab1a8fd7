"""The graph explorer without a browser.  Judges: the description that it was given."""

import json
import time

import ipywidgets
import pytest

from tests.for_each import raises
from tests.viz.graphs import mlp, vit
from trainium_edu.widgets.graph_explorer import GraphExplorer
from trainium_edu.xla.executable import Executable, describe
from trainium_edu.xla.graph import Graph, as_type, scope
from trainium_edu.xla.operations import apply, parameter


@pytest.fixture
def graph():
    return mlp()


def ask(explorer, operation, asks=1):
    explorer.view.asked = {"operation": operation, "asks": asks}


def test_the_page_gets_both_graphs_with_numbers_for_ids(graph):
    page = json.loads(GraphExplorer(graph, repr).view.graph)
    assert len(page["compiled"]["nodes"]) == len(graph["nodes"])
    assert len(page["recorded"]["nodes"]) == len(graph["recorded"])
    for shown, given in zip(page["compiled"]["nodes"], graph["nodes"], strict=True):
        assert shown["inputs"] == given["inputs"]
        assert shown["engine_ns"] == [given["engine_ns"][e] for e in page["engines"]]
    assert (page["total_ns"], page["passes"]) == (graph["total_ns"], graph["passes"])


def test_advice_is_ranked_by_the_time_it_saves(graph):
    graph["advice"].reverse()
    page = json.loads(GraphExplorer(graph, repr).view.graph)
    saved = [entry["ns"] for entry in page["advice"]]
    assert saved == sorted(saved, reverse=True)
    first = max(graph["advice"], key=lambda entry: entry["ns"])
    assert page["advice"][0]["nodes"] == first["nodes"]


def test_what_opens_an_operation_is_asked_by_its_id_and_shown_below(graph):
    asked = []
    below = ipywidgets.HTML("instructions")
    explorer = GraphExplorer(graph, open_operation=lambda i: asked.append(i) or below)
    ask(explorer, 3)
    assert asked == [graph["nodes"][3]["id"]]
    assert explorer.children == (explorer.view, below)
    assert explorer.view.answer.endswith("is open below")
    ask(explorer, 3, 2)
    assert len(asked) == 2


def test_an_operation_without_instructions_says_so(graph):
    answers = iter([ipywidgets.HTML("load"), None])
    explorer = GraphExplorer(graph, open_operation=lambda _: next(answers))
    ask(explorer, 0)
    assert explorer.children[1].value == "load"
    ask(explorer, 1)
    assert explorer.children == (explorer.view,)
    assert explorer.view.answer.endswith("has no instructions")


def test_a_failure_to_open_is_told_on_the_page(graph):
    def fail(_):
        raise ValueError("nothing was lowered")

    explorer = GraphExplorer(graph, open_operation=fail)
    ask(explorer, 0)
    assert "does not open: nothing was lowered" in explorer.view.answer
    for wrong in (-1, 9999, "x", None):
        before = explorer.view.answer
        ask(explorer, wrong)
        assert explorer.view.answer == before


@pytest.mark.parametrize("operation", [-1, "1", None, [1], 9999])
def test_only_compiled_operations_open(graph, operation):
    error = ValueError if isinstance(operation, int) else TypeError
    explorer = GraphExplorer(graph, open_operation=repr)
    raises(
        error,
        "operation is .*; it must be an integer from 0 to 41",
        explorer.open_operation,
        operation,
    )


def test_its_text_is_fixed(graph):
    explorer = GraphExplorer(graph, repr)
    assert repr(explorer) == repr(GraphExplorer(mlp(), repr))
    assert repr(explorer).startswith("GraphExplorer('mlp step': 56 operations recorded, 42 compi")


def test_an_executable_describes_itself_as_the_explorer_wants_it():
    x = parameter(0, as_type((128, 64), "float32"), "x")
    with scope("forward/act"):
        y = apply("exp", apply("negate", x))
    explorer = GraphExplorer(describe(Executable(Graph("tiny", (x,), (y,)))), repr)
    assert repr(explorer).startswith("GraphExplorer('tiny': 3 operations recorded, 2 compiled")
    fused = max(explorer.sides["compiled"].nodes, key=lambda node: node["ns"])
    forward = next(row for row in explorer.sides["compiled"].rows if row.name == "forward")
    assert (fused["operation"], fused["ns"]) == ("fusion", forward.ns)  # all of its time
    assert len(fused["others"]) == 2
    assert sum(fused["engine_ns"]) > 0


def test_a_deep_graph_reaches_the_page_in_less_than_two_megabytes():
    graph = vit()
    assert len(graph["recorded"]) > 1400
    assert len(GraphExplorer(graph, repr).view.graph) < 2_000_000


@pytest.mark.slow
@pytest.mark.clock
def test_a_deep_graph_is_ready_at_once():
    graph = vit()
    begin = time.process_time()
    GraphExplorer(graph, repr)
    assert time.process_time() - begin < 1.0
