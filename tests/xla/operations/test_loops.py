"""The loop around elementwise rows.  Judges: the executor's values; counts of instructions."""

from math import prod

import numpy as np

from tests.for_each import for_each, for_rows
from tests.xla.operations.cases import lowered, values
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.xla.executor import as_held
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.lowering import Lowering
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.operations.loops import lower_elementwise


def number(value, rank=2, dtype="float32"):
    return constant(np.full((1,) * rank, value), dtype)


def fused(graph, arrays, core=None):
    """Return (core, the output's values) of a graph lowered as one group."""
    core = NeuronCore() if core is None else core
    lowering = Lowering(core, dict(zip(graph.parameters, arrays, strict=True)))
    for one in graph.parameters:
        lowering.feed(one)
    inner = [n for n in graph.nodes if n.operation not in ("parameter", "constant")]
    lower_elementwise(lowering, inner, graph.outputs)
    found = lowering.view(graph.outputs[0])
    return core, np.asarray(core.value(found)).astype(np.float32) if core.values else None


def names(core):
    return [i.name for i in core.program.instructions]


def graph_of(build, *shapes, dtype="float32"):
    inputs = tuple(parameter(n, as_type(s, dtype)) for n, s in enumerate(shapes))
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-2, 2, s).astype(np.float32) for s in shapes]
    return Graph("test", inputs, (build(*inputs),)), arrays


ODD = [(1,), (130,), (257,), (4096,), (5000,), (130, 1), (1, 130), (130, 257), (3, 2100),
       (7, 1, 19), (2, 3, 4, 5)]  # fmt: skip


@for_each("shape", ODD, ids=str)
def test_any_shape_is_cut_into_tiles(shape):
    graph, arrays = graph_of(lambda a, b: apply("add", a, b), shape, shape)
    assert_equal(graph, arrays)


def test_a_row_is_loaded_once_and_a_flat_tensor_uses_all_partitions():
    graph, arrays = graph_of(lambda a: apply("exp", a), (1024, 10))
    core, _ = lowered(graph, arrays)
    assert names(core) == ["dma_copy", "activation", "dma_copy"]
    (activation,) = (i for i in core.program.instructions if i.name == "activation")
    assert activation.work[0] == 80  # elements on each of 128 partitions
    graph, arrays = graph_of(lambda a, b: apply("add", a, b), (512, 300), (1, 300))
    core, _ = lowered(graph, arrays)
    assert names(core).count("dma_copy") == 4 + 1 + 4
    graph, arrays = graph_of(
        lambda a, b: apply("add", a, apply("broadcast", b, shape=a.shape)), (512, 300), (1, 300)
    )
    core = assert_equal(graph, arrays)
    assert names(core).count("dma_copy") == 4 + 1 + 4


def assert_equal(graph, arrays, error=4e-6):
    core, (got,) = lowered(graph, arrays)
    np.testing.assert_allclose(got, values(graph, arrays)[0], rtol=error, atol=error)
    return core


def test_a_value_seen_through_strides_is_read_by_them():
    graph, (a, b) = graph_of(lambda a, b: apply("add", a, b), (130, 7), (130, 7))
    core = NeuronCore()
    lowering = Lowering(core, dict(zip(graph.parameters, (a, b), strict=True)))
    lowering.feed(graph.parameters[0])
    lowering.alias(graph.parameters[1], core.hbm(np.ascontiguousarray(b.T)).permuted(1, 0))
    lower_elementwise(lowering, graph.outputs, graph.outputs)
    np.testing.assert_array_equal(core.value(lowering.view(graph.outputs[0])), a + b)


# -- groups -----------------------------------------------------------------------------------


def adam(p, m, v, g):
    """Return the new weights of one step of Adam."""
    m = apply("add", apply("multiply", m, number(0.9)), apply("multiply", g, number(0.1)))
    v = apply("add", apply("multiply", v, number(0.99)),
              apply("multiply", apply("square", g), number(0.01)))  # fmt: skip
    root = apply("add", apply("sqrt", apply("absolute", v)), number(1e-3))
    return apply("subtract", p, apply("multiply", apply("divide", m, root), number(0.05)))


def normed(x, mean, spread, weight, bias):
    """Return x - mean over spread (one for each row), weighted (one for each column)."""
    factor = apply("rsqrt", apply("add", apply("square", spread), number(1e-3)))
    unit = apply("multiply", apply("subtract", x, mean), factor)
    return apply("add", apply("multiply", unit, apply("exp", weight)), bias)


def chosen(x, y):
    """Return a choice between functions of both, through pred and s32."""
    is_less = apply("logical_or", apply("less", x, y), apply("greater", y, number(1.5)))
    whole = apply("cast", apply("cast", y, dtype="int32"), dtype="float32")
    return apply("select", is_less, apply("gelu", x), apply("multiply", whole, number(0.0)))


def sums(x):
    """Return x + 1 + 2 + ... in many steps that stay alive."""
    parts = [apply("add", x, number(float(n))) for n in range(24)]
    while len(parts) > 1:
        parts = [apply("multiply", a, b) if len(parts) == 2 else apply("add", a, b)
                 for a, b in zip(parts[::2], parts[1::2], strict=False)]  # fmt: skip
    return parts[0]


def of_sum(a, b):
    """Return a function of a sum of functions."""
    return apply("tanh", apply("add", apply("exp", a), apply("exp", b)))


GROUPS = {
    "adam": (adam, (130, 70), (130, 70), (130, 70), (130, 70)),
    "norm": (normed, (257, 33), (257, 1), (257, 1), (1, 33), (1, 33)),
    "choice": (chosen, (130, 70), (130, 70)),
    "choice of rows": (chosen, (130, 1), (130, 70)),
    "many": (sums, (130, 70)),
    "stretched in the middle": (of_sum, (3, 4, 5), (3, 1, 5)),
    "from small ones": (of_sum, (130, 1), (1, 9)),
}


@for_each("name", GROUPS)
def test_a_group_computes_the_executors_values_and_moves_inputs_and_output_only(name):
    graph, arrays = graph_of(*GROUPS[name])
    _, got = fused(graph, arrays)
    want = values(graph, arrays)[0]
    error = 4e-6 * max(1.0, np.abs(want).max())
    np.testing.assert_allclose(got, want, rtol=0, atol=error)
    build, *shapes = GROUPS[name]
    graph, arrays = graph_of(build, *shapes)
    core, _ = fused(graph, arrays)
    alone, _ = lowered(graph, arrays)
    moved = 4 * (sum(map(prod, shapes)) + graph.outputs[0].type.size)
    hbm = [measure(c.program).roofline().hbm_bytes for c in (core, alone)]
    assert moved <= hbm[0] <= hbm[1]
    if name == "adam":
        assert hbm[0] == moved


def test_a_group_rounds_its_result_alone():
    """1 + 2**-9 - 1 in BF16: 2**-9 if what lies between stays in FP32, else 0."""
    graph, arrays = graph_of(
        lambda x: apply("subtract", apply("add", x, number(2.0**-9, 2, "bfloat16")),
                        number(1.0, 2, "bfloat16")),
        (4, 4), dtype="bfloat16",
    )  # fmt: skip
    ones = [np.ones((4, 4), np.float32)]
    _, got = fused(graph, ones)
    assert np.all(got == 2.0**-9)
    assert np.all(values(graph, ones)[0] == 0)
    assert arrays[0].shape == (4, 4)


def test_casts_between_are_free_of_rounding_and_the_last_one_rounds():
    def build(x, y):
        x, y = (apply("cast", v, dtype="float32") for v in (x, y))
        wide = apply("multiply", x, y)
        return apply("cast", apply("exp", wide), dtype="bfloat16")

    graph, arrays = graph_of(build, (130, 70), (1, 70), dtype="bfloat16")
    arrays = [as_held(a, p.type) for a, p in zip(arrays, graph.parameters, strict=True)]
    core, got = fused(graph, arrays)
    np.testing.assert_allclose(got, values(graph, arrays)[0], rtol=2.0**-7)
    assert measure(core.program).roofline().hbm_bytes == 2 * (130 * 70 * 2 + 70)


def test_a_mask_may_choose_minus_infinity():
    graph, (x,) = graph_of(
        lambda x: apply("select", apply("less", x, number(0.0)), number(-np.inf), x), (130, 7)
    )
    np.testing.assert_array_equal(fused(graph, [x])[1], np.where(x < 0, -np.inf, x))


def test_words_are_exact_beyond_fp32():
    """The judge is integer arithmetic: FP32 counts to 2**24 only."""
    a = np.int32([[2**30 + 1, 2**24 + 1, -(2**30) - 1]])
    b = np.int32([[2**30, 2**24, -(2**30)]])
    x, y = (parameter(n, as_type((1, 3), "int32")) for n in range(2))
    for name in ("subtract", "maximum", "equal", "greater"):
        _, (got,) = lowered(Graph(name, (x, y), (apply(name, x, y),)), [a, b])
        np.testing.assert_array_equal(got, getattr(np, name)(a, b))


@for_rows("name", "adam", "many")
def test_a_large_group_fits_and_does_not_beat_its_roofline(name):
    build, *shapes = GROUPS[name]
    inputs = tuple(parameter(n, as_type((2048, 2048), "float32")) for n in range(len(shapes)))
    core, _ = fused(
        Graph(name, inputs, (build(*inputs),)), [None] * len(inputs), NeuronCore(values=False)
    )
    timeline = measure(core.program)  # raises if it does not fit
    busiest = max(timeline.busy_ns(engine) for engine in Engine)
    # Adam's results fill SBUF with one buffer each, so that arithmetic waits for stores
    most = {"adam": 1.6, "many": 1.01}[name]
    assert timeline.roofline().memory_ns <= timeline.makespan_ns < most * busiest


def test_what_rows_share_is_computed_once():
    graph, arrays = graph_of(*GROUPS["norm"])
    core, _ = fused(graph, arrays)
    # exp once; square, rsqrt, product of 3 tiles
    assert names(core).count("activation") == 1 + 3 * 3
