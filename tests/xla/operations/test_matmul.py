"""Products in time and precision.

Judges: kernels of ``nki``, the unrolled program, float64, and the Tensor Engine's published peak.
"""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.texts import rows_beside
from tests.xla.operations.cases import graph_of, lowered, values
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.nki.examples.matmul import basic
from trainium_edu.specs import TRN1
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter, turns


def product_of(a, b, turn_a=False, turn_b=False, **options):
    return graph_of("dot", a, b, turn_a=turn_a, turn_b=turn_b, **options)


def program_of(graph):
    core = NeuronCore(values=False)
    lower(graph, core)
    return core.program


@nki.jit
def by_hand(lhsT, rhs):
    """K in two halves that add up in PSUM, N in two banks; all blocks are loaded once."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), lhsT.dtype, buffer=nl.shared_hbm)
    held, streamed = [], []
    for tiles, source, width in ((held, lhsT, m), (streamed, rhs, n)):
        for start in range(0, k, 128):
            tile = nl.ndarray((128, width), lhsT.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=source[nl.ds(start, 128)])
            tiles.append(tile)
    result = nl.ndarray((m, n), lhsT.dtype, buffer=nl.sbuf)
    for start in range(0, n, 512):
        sums = nl.ndarray((m, 512), nl.float32, buffer=nl.psum)
        for one, other in zip(held, streamed, strict=True):
            nisa.nc_matmul(dst=sums, stationary=one, moving=other[:, start : start + 512])
        nisa.tensor_copy(dst=result[:, start : start + 512], src=sums)
    nisa.dma_copy(dst=out, src=result)
    return out


@for_rows(
    "kernel, shape", (basic, (128, 128, 512)), (basic, (100, 60, 70)), (by_hand, (256, 128, 1024))
)
@for_rows("dtype", "float32", "float16")
def test_a_product_takes_exactly_what_the_same_kernel_takes(kernel, shape, dtype):
    k, m, n = shape
    ours = measure(program_of(product_of(Type((k, m), dtype), Type((k, n), dtype), turn_a=True)))
    run = nki.run(kernel, np.ones((k, m), dtype), np.ones((k, n), dtype))
    assert ours.makespan_ns == pytest.approx(run.timeline.makespan_ns, rel=1e-12)


BATCHES = rows_beside(__file__, "tables.toml")["batches"]


@pytest.mark.parametrize("chain", [False, True], ids=["alone", "between"])
@pytest.mark.parametrize(("dtype", "a", "b", "turned"), BATCHES, ids=str)
def test_a_repeated_turn_is_timed_as_all_of_them(dtype, a, b, turned, chain, monkeypatch):
    """The judge: the same products, recorded one by one."""
    graph = product_of(Type(a, dtype), Type(b, dtype), **turned)
    if chain:  # whoever reads the result waits for it, and it for its operands
        x, y = graph.parameters
        node = apply("dot", apply("exp", x), y, **{"turn_a": False, "turn_b": False} | turned)
        graph = Graph("chain", (x, y), (apply("exp", node),))
    short = program_of(graph)
    monkeypatch.setattr(turns, "FEW", 10**9)
    long = program_of(graph)
    assert len(short) < len(long) / 2
    times = [measure(program).makespan_ns for program in (short, long)]
    assert times[0] == pytest.approx(times[1], rel=0.04)


def test_192_heads_are_recorded_as_two():
    heads = Type((16, 12, 197, 64), "bfloat16")
    assert len(program_of(product_of(heads, heads, turn_b=True))) < 50


def test_a_reader_of_any_part_waits_for_the_last_turn():
    x, y = (parameter(i, Type((32, 128, 64), "float32")) for i in range(2))
    product = apply("dot", x, y, turn_a=False, turn_b=True)
    last = apply("slice", product, starts=(31, 0, 0), limits=(32, 128, 128), strides=(1, 1, 1))
    both = program_of(Graph("last", (x, y), (apply("exp", last),)))
    alone = measure(program_of(Graph("dot", (x, y), (product,)))).makespan_ns
    assert measure(both).makespan_ns > alone


@for_rows("batch", (), (3,), (2, 2))
def test_narrow_operands_give_a_wide_result_summed_in_fp32(batch):
    """The judge: float64 of the rounded operands; 700 terms in BF16 would be off by far more."""
    a, b = (Type((*batch, *s), "bfloat16") for s in ((5, 700), (700, 9)))
    graph = product_of(a, b, dtype="float32")
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-8, 9, t.shape).astype(np.float32) for t in (a, b)]
    exact = np.matmul(*(x.astype(np.float64) for x in arrays))
    np.testing.assert_array_equal(values(graph, arrays)[0], exact)
    np.testing.assert_array_equal(lowered(graph, arrays)[1][0], exact)


def test_a_product_does_not_beat_the_peak():
    n = 1024
    graph = product_of(Type((n, n), "bfloat16"), Type((n, n), "bfloat16"), turn_a=True)
    least_ns = 2 * n**3 / TRN1.tensor_engine.peak_flops.value * 1e9
    assert measure(program_of(graph)).makespan_ns > least_ns
