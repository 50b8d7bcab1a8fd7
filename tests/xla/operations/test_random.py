"""Random numbers of a graph.

Judges: ``numerics.draw_bits`` (held to Random123 elsewhere) for values; the binomial law for masks,
five standard deviations wide; the engine's own numbers only by shape and law, as they differ.
"""

import numpy as np

from tests.for_each import for_each, for_rows
from tests.xla.operations.cases import lowered, values
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.numerics import draw_bits
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter

SCALAR = Type((), "int32")
SHAPE = (130, 301)


def graph_of(operation="random_uniform", shape=SHAPE, number=0, **attributes):
    seed, step = parameter(0, SCALAR, "seed"), parameter(1, SCALAR, "step")
    node = apply(operation, seed, step, shape=shape, number=number, **attributes)
    return Graph(operation, (seed, step), (node,))


def keep(probability=0.8, dtype="float32", **options):
    return graph_of("random_keep", probability=probability, dtype=dtype, **options)


def drawn(graph, seed=5, step=9, replicas=None):
    return values(graph, [np.int32(seed), np.int32(step)], replicas)[0]


def test_seed_step_and_number_decide_the_numbers():
    bits = draw_bits(130 * 301, seed=5, step=2**63 + 9 * 2**23 + 4, n_random_bits=24)
    got = drawn(graph_of(number=4))
    np.testing.assert_array_equal(got, bits.reshape(SHAPE) / 2.0**24)
    assert got.dtype == np.float32
    assert got.max() < 1
    assert graph_of().fingerprint == graph_of().fingerprint
    np.testing.assert_array_equal(drawn(graph_of()), drawn(graph_of()))


@for_rows("seed, step, number", (6, 9, 0), (5, 10, 0), (5, 9, 1), (-1, 9, 0))
def test_seed_step_and_number_each_give_other_numbers(seed, step, number):
    other = drawn(graph_of(number=number), seed, step)
    alike = np.corrcoef(other.ravel(), drawn(graph_of()).ravel())[0, 1]
    assert abs(alike) < 5 / np.sqrt(other.size)


@for_each("run", [drawn, lambda g: lowered(g, [np.int32(5), np.int32(9)])[1][0]],
    ids=["executor", "instructions"])  # fmt: skip
@for_rows("probability", 0.0, 0.1, 0.8, 1.0)
@for_rows("dtype", "float32", "bfloat16", "bool")
def test_a_mask_keeps_as_many_as_it_should(run, probability, dtype):
    mask = np.asarray(run(keep(probability, dtype)), np.float64)
    assert mask.shape == SHAPE
    assert set(np.unique(mask)) <= {0.0, 1.0}
    spread = np.sqrt(probability * (1 - probability) / mask.size)
    assert abs(mask.mean() - probability) <= 5 * spread


def test_the_engines_numbers_are_uniform_and_follow_seed_and_step():
    first, again, other = (
        lowered(graph_of(), [np.int32(5), np.int32(step)])[1][0] for step in (9, 9, 10)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.99
    assert first.min() >= 0
    assert first.max() < 1
    counts = np.histogram(first, 10, (0, 1))[0]
    assert np.abs(counts - first.size / 10).max() < 5 * np.sqrt(first.size * 0.09)


def test_a_seed_for_each_replica_gives_each_its_own_mask():
    graph, seeds = keep(), np.int32([3, 4, 3])
    masks = values(graph, [seeds, np.int32(1)], replicas=3)[0]
    assert masks.shape == (3, *SHAPE)
    for mask, seed in zip(masks, seeds, strict=True):
        np.testing.assert_array_equal(mask, drawn(graph, seed, 1))
    assert drawn(graph, 3, 1, replicas=3).shape == SHAPE  # one seed: one mask for all


def test_a_mask_is_drawn_on_the_vector_engine():
    core = NeuronCore(values=False)
    lower(keep(shape=(1024, 512)), core)
    found = [i.name for i in core.program.instructions]
    assert found.count("rng") == 1024 * 512 // (128 * 2048)
