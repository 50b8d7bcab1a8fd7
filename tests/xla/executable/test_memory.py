"""How much HBM a graph needs at once.

Judges: closed forms on small graphs; the core's own limit, which lowering runs into.
"""

from dataclasses import replace

from tests.for_each import raises
from tests.xla.executable.graphs import layers, training_step
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executable.memory import high_water
from trainium_edu.xla.executable.sections import in_order
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, parameter

X = parameter(0, Type((256, 1024), "float32"), "x")
MIB = 256 * 1024 * 4


def bytes_of(output, donated=None):
    outputs = output if isinstance(output, tuple) else (output,)
    return high_water(Graph("test", (X,), outputs), donated or {})[0]


def test_values_stay_from_their_making_to_their_last_use():
    chain = X
    for _ in range(10):
        chain = apply("exp", chain)
    assert bytes_of(chain) == 3 * MIB
    early = apply("exp", X)
    late = apply("tanh", apply("tanh", early))
    assert bytes_of(apply("add", late, early)) == 4 * MIB
    seen = apply("reshape", apply("exp", X), shape=(1024, 256))
    assert bytes_of(seen) == 2 * MIB
    assert bytes_of(apply("exp", seen)) == 3 * MIB


def test_results_take_the_place_of_what_is_not_read_again():
    summed = apply("all_reduce", apply("exp", X), kind="sum", groups=None)
    assert bytes_of(summed) == 2 * MIB
    new = apply("exp", X)
    assert bytes_of(new) == 2 * MIB
    assert bytes_of(new, {0: 0}) == MIB
    other = apply("add", apply("tanh", new), X)
    assert bytes_of((new, other), {0: 0}) == bytes_of((new, other))
    graph = training_step()
    alone = replace(graph, donated=())
    assert Executable(graph).hbm_bytes < Executable(alone).hbm_bytes


def test_gradients_that_are_summed_early_let_go_of_what_made_them():
    """Three gradients of a quarter each, and each is made of an activation of its own."""
    made = [apply("dot", apply(name, X), X, turn_a=False, turn_b=True)
            for name in ("exp", "tanh", "sin")]  # fmt: skip
    outputs = tuple(apply("all_reduce", one, kind="sum", groups=None) for one in made)
    graph = Graph("test", (X,), outputs)
    order, _ = in_order(graph)
    assert high_water(graph, {}, order=order)[0] == MIB + MIB + 3 * MIB // 4
    late = sorted(graph.nodes, key=lambda n: n.operation in ("dot", "all_reduce"))
    assert high_water(graph, {}, order=late)[0] == MIB + 3 * MIB + MIB // 4


def test_a_graph_that_does_not_fit_names_its_largest_values():
    graph = layers(1, rows=2**20, width=2048)
    said = str(raises(NkiValidationError, "GiB of HBM at once", Executable, graph))
    assert "a NeuronCore has 16 " in said
    assert "x f32[1048576,2048]" in said
    assert "smaller batch" in said


def test_what_is_kept_for_the_backward_pass_grows_with_depth():
    shallow, deep = (Executable(training_step(n, rows=2048)).hbm_bytes for n in (2, 8))
    activation = 2048 * 128 * 4
    assert deep - shallow > 6 * 2 * activation  # each layer keeps its input, and that of its gelu
