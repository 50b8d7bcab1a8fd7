"""Moves: what they cost, and what they refuse.

Judges: the instructions recorded, and bytes counted by hand.
"""

import numpy as np
import pytest

from tests.for_each import for_rows
from tests.xla.operations.cases import f, graph_of, lowered, values
from tests.xla.operations.cases_move import CASES
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import OPERATIONS, apply, convolution, indexing, parameter


def names(graph):
    core = NeuronCore(values=False)
    lower(graph, core)
    return [i.name for i in core.program.instructions]


# -- what moves -------------------------------------------------------------------------------


@for_rows(
    "operation, attributes",
    ("reshape", {"shape": (60, 64)}),
    ("transpose", {"perm": (-2, -3, -1)}),
    ("slice", {"starts": (1, 2, 0), "limits": (3, 20, 64), "strides": (1, 2, 1)}),
)
def test_a_row_that_stays_a_row_is_only_looked_at_otherwise(operation, attributes):
    assert names(graph_of(operation, f(3, 20, 64), **attributes)) == []


def test_turns_go_through_the_tensor_engine_and_copies_by_dma():
    found = names(graph_of("transpose", f(200, 300), perm=(-1, -2)))
    assert found.count("nc_transpose") == 2 * 3
    for given in (f(200, 3), Type((200, 300), "int32")):
        assert names(graph_of("transpose", given, perm=(-1, -2))) == ["dma_copy"]
    x = parameter(0, f(20, 64))
    part = apply("slice", x, starts=(0, 8), limits=(20, 40), strides=(1, 1))
    graph = Graph("part", (x,), (apply("reshape", part, shape=(640,)),))
    assert names(graph) == ["dma_copy"]


def test_pads_and_gathers_move_the_bytes_they_need():
    core = NeuronCore(values=False)
    lower(graph_of("pad", f(3, 4, 5), low=(1, 2, 0), high=(2, 0, 0), value=0.0), core)
    moved = [i.work[3] for i in core.program.instructions if i.name == "dma_copy"]
    assert sum(moved) == 6 * 6 * 5 * 4
    core = NeuronCore(values=False)
    lower(graph_of("gather", f(50_000, 64), Type((256,), "int32")), core)
    moved = sum(i.work[3] for i in core.program.instructions if i.name == "dma_copy")
    assert moved == 256 * 4 + 2 * 256 * 64 * 4
    graph = graph_of("concatenate", f(3, 4), f(2, 4), axis=-2)
    assert OPERATIONS["concatenate"].flops(graph.outputs[0]) == 0


# -- columns of a convolution -----------------------------------------------------------------


def test_a_convolution_counts_two_flops_per_multiplication():
    graph = graph_of(
        "convolution", f(2, 3, 8, 8), f(4, 3, 3, 3), strides=(1, 1), padding=((1, 1), (1, 1))
    )
    output, (x, w) = graph.outputs[0], graph.parameters
    want = 2 * (2 * 4 * 8 * 8) * (3 * 3 * 3)
    assert OPERATIONS["convolution"].flops(output) == want
    options = {"strides": (1, 1), "padding": ((1, 1), (1, 1))}
    for name, pair, shape in (("convolution_of_input", (w, output), x.shape),
                              ("convolution_of_filter", (x, output), w.shape)):  # fmt: skip
        assert OPERATIONS[name].flops(apply(name, *pair, shape=shape, **options)) == want


@for_rows("image, filters, stride, pad", ((4, 16, 16, 16), (32, 16, 3, 3), 1, 1),
    ((16, 3, 224, 224), (768, 3, 16, 16), 16, 0))  # fmt: skip
def test_a_convolution_takes_a_few_times_its_product(image, filters, stride, pad):
    """Laying out the columns costs time, but less than four times the product of its sizes."""
    graph = graph_of("convolution", f(*image), f(*filters), strides=(stride, stride),
                     padding=((pad, pad), (pad, pad)))  # fmt: skip
    n, o, *places = graph.outputs[0].shape
    size = int(np.prod(filters[1:]))
    product = graph_of(
        "dot", f(o, size), f(n * int(np.prod(places)), size), turn_a=False, turn_b=True
    )
    times = []
    for one in (graph, product):
        core = NeuronCore(values=False)
        lower(one, core)
        times.append(measure(core.program).makespan_ns)
    assert times[1] < times[0] < 4 * times[1]


# -- what does not fit ------------------------------------------------------------------------

INDICES = Type((3,), "int32")


@for_rows("wrong", -1, 5)
@for_rows("operation", "gather", "scatter_add", "pick", "one_hot")
def test_an_index_outside_names_the_operation_and_its_line(operation, wrong):
    more = {"classes": 5, "dtype": "float32"} if operation == "one_hot" else {}
    types = {"gather": (f(5, 2), INDICES), "scatter_add": (f(5, 2), INDICES, f(3, 2)),
             "pick": (f(3, 5), INDICES), "one_hot": (INDICES,)}[operation]  # fmt: skip
    graph = graph_of(operation, *types, **more)
    arrays = [np.zeros(t.shape, "float32" if t.is_float else "int32") for t in types]
    arrays[operation != "one_hot"][1] = wrong
    with pytest.raises(IndexError, match=f"{operation} at .*index {wrong} is out of range.* 5 "):
        values(graph, arrays)


def test_equal_indices_add_up_in_both_worlds():
    graph = graph_of("scatter_add", f(4, 2), Type((300,), "int32"), f(300, 2))
    arrays = [np.zeros((4, 2), "f4"), np.full(300, 2, "i4"), np.ones((300, 2), "f4")]
    want = np.float32([[0, 0], [0, 0], [300, 300], [0, 0]])
    np.testing.assert_array_equal(values(graph, arrays)[0], want)
    np.testing.assert_array_equal(lowered(graph, arrays)[1][0], want)


# -- large ones, in pieces --------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.operation.startswith("convolution")], ids=str
)
def test_a_convolution_in_pieces_is_the_same(case, size, monkeypatch):
    """Channels, places and images are cut where a tile, or the cache, would not hold them."""
    graph, arrays = case.graph(), case.arrays()
    (want,) = values(graph, arrays)
    monkeypatch.setattr(convolution, "SLAB_BYTES", size)
    monkeypatch.setattr(convolution, "COLUMNS", size)
    scale = 4e-6 * max(1, np.abs(want).max())
    np.testing.assert_allclose(values(graph, arrays)[0], want, rtol=0, atol=scale)
    np.testing.assert_allclose(lowered(graph, arrays)[1][0], want, rtol=0, atol=scale)


def test_updates_that_do_not_stay_are_loaded_where_they_are_needed(monkeypatch):
    graph = graph_of("scatter_add", f(300, 3), Type((140,), "int32"), f(140, 3))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(300, 3)).astype("f4"), rng.integers(0, 300, 140).astype("i4"),
              rng.normal(size=(140, 3)).astype("f4")]  # fmt: skip
    held, loads = lowered(graph, arrays)[1][0], []
    for most in (96 * 1024, 0):
        monkeypatch.setattr(indexing, "HELD_BYTES", most)
        core, (found,) = lowered(graph, arrays)
        np.testing.assert_array_equal(found, held)
        loads.append([i.name for i in core.program.instructions].count("dma_copy"))
    assert loads[1] - loads[0] == 2 * 3 - 2  # two pieces for each of three blocks of rows
