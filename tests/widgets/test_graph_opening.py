"""Opening operations of a compiled graph.  Judges: the executable's own times and programs."""

import pytest

from trainium_edu.widgets.graph_explorer import graph_explorer
from trainium_edu.widgets.graph_opening import instructions_of
from trainium_edu.widgets.systolic_array import SystolicArrayPlayer
from trainium_edu.widgets.timeline_explorer import TimelineExplorer
from trainium_edu.xla.executable import Executable, describe
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.operations import apply, parameter


@pytest.fixture(scope="module")
def executable():
    x = parameter(0, as_type((256, 128), "float32"), "x")
    w = parameter(1, as_type((128, 2), "float32"), "w")
    product = apply("dot", apply("exp", x), w, turn_a=False, turn_b=False)
    return Executable(Graph("two", (x, w), (product,)))


def number_of(executable, operation):
    return next(n["id"] for n in describe(executable)["nodes"] if n["operation"] == operation)


def test_an_operation_opens_as_its_program_when_it_runs(executable):
    number = number_of(executable, "exp")
    (timeline,) = instructions_of(executable)(number).children
    assert isinstance(timeline, TimelineExplorer)
    assert timeline.makespan_ns == executable.makespan_ns
    one = executable.operations()[number]
    low, high = timeline.window
    assert low <= one.start_ns < one.end_ns <= high
    assert high - low <= 1.1 * (one.end_ns - one.start_ns)


def test_a_matmul_opens_the_array_too(executable):
    opened = instructions_of(executable)(number_of(executable, "dot"))
    timeline, said, player = opened.children
    assert isinstance(timeline, TimelineExplorer)
    assert "K = 128, M = 256, N = 2" in said.value
    assert isinstance(player, SystolicArrayPlayer)
    assert player.frames.shape == (4, 4, 2)


def test_what_issues_no_instructions_has_none(executable):
    assert instructions_of(executable)(number_of(executable, "parameter")) is None


def test_the_explorer_opens_every_operation_of_a_described_executable(executable):
    described = describe(executable)
    explorer = graph_explorer(described, open_operation=instructions_of(executable))
    for k, node in enumerate(described["nodes"]):
        explorer.view.asked = {"operation": k, "asks": k}
        said = "has no instructions" if node["section"] is None else "is open below"
        assert explorer.view.answer == f"{node['operation']} {node['id']} {said}"


def test_only_an_executable_has_instructions():
    with pytest.raises(TypeError, match="executable"):
        instructions_of({})
