"""Instructions compute what the executor computes, in the time they take.

Judges: the executor, which ``test_values`` holds to NumPy; kernels of ``nki``; HBM's bandwidth.

Tolerances, relative to the largest result: FP32 4e-6 (another order of additions), BF16 one spacing
(2**-7), integers and pred none.  The elementary functions are the same NumPy functions.
"""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows
from tests.xla.operations.cases import all_cases, lowered, values
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.nki.examples.softmax import softmax_fused
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import OPERATIONS, apply, parameter

CASES = [c for c in all_cases() if c.is_lowered]
TOLERANCE = {"float32": 4e-6, "bfloat16": 2.0**-7, "float16": 2.0**-10}


def assert_equal_to_executor(graph, arrays):
    core, (got,) = lowered(graph, arrays)
    (want,) = values(graph, arrays)
    want = np.asarray(want).astype(np.float64)
    error = TOLERANCE.get(graph.outputs[0].dtype, 0) * max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=error)
    return core


@for_each("dtype", ["float32", "bfloat16"])
@for_each("case", CASES, ids=str)
def test_instructions_compute_the_executors_values(case, dtype):
    case = case.of_dtype(dtype)
    assert_equal_to_executor(case.graph(), case.arrays())


# -- time -------------------------------------------------------------------------------------

ELEMENTWISE = [c for c in CASES if OPERATIONS[c.operation].is_elementwise]
BIG = {name: next(c for c in ELEMENTWISE if c.operation == name)
       for name in dict.fromkeys(c.operation for c in ELEMENTWISE)}  # fmt: skip


@for_each("name", [n for n in BIG if n != "broadcast"])
def test_no_elementwise_operation_beats_its_roofline(name):
    """The judge: bytes in and out of HBM at its bandwidth."""
    case = BIG[name]
    inputs = tuple(parameter(n, t.like((512, 2048))) for n, t in enumerate(case.types))
    output = apply(name, *inputs, **case.attributes)
    core = NeuronCore(values=False)
    lower(Graph(name, inputs, (output,)), core)
    timeline = measure(core.program)
    roofline = timeline.roofline()
    least = sum(t.type.nbytes for t in (*inputs, output))
    assert roofline.hbm_bytes >= least
    assert timeline.makespan_ns >= roofline.memory_ns >= least / roofline.hbm_bytes_per_s * 1e9


@nki.jit
def nki_layer_norm(x, weight, bias):
    """The row of the table as a kernel, instruction by instruction."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), nl.float32, buffer=nl.shared_hbm)
    scale, shift = (nl.ndarray((128, width), nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=scale, src=weight.ap(pattern=[[0, 128], [1, width]]))
    nisa.dma_copy(dst=shift, src=bias.ap(pattern=[[0, 128], [1, width]]))
    for start in nl.static_range(0, rows, 128):
        down = nl.ds(start, 128)
        tile = nl.ndarray((128, width), nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[down])
        stats = nl.ndarray((128, 6), nl.float32, buffer=nl.sbuf)
        nisa.bn_stats(dst=stats, data=tile)
        both = nl.ndarray((128, 2), nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=both, data=stats)
        raised, spread = (nl.ndarray((128, 1), nl.float32, buffer=nl.sbuf) for _ in range(2))
        nisa.tensor_scalar(dst=raised, data=both[:, 1:2], op0=nl.add, operand0=1e-5)
        nisa.activation(dst=spread, op=nl.rsqrt, data=raised)
        value, scaled, result = (
            nl.ndarray((128, width), nl.float32, buffer=nl.sbuf) for _ in range(3)
        )
        nisa.tensor_scalar(dst=value, data=tile, op0=nl.subtract, operand0=both[:, 0:1],
                           op1=nl.multiply, operand1=spread)  # fmt: skip
        nisa.tensor_tensor(dst=scaled, data1=value, data2=scale, op=nl.multiply)
        nisa.tensor_tensor(dst=result, data1=scaled, data2=shift, op=nl.add)
        nisa.dma_copy(dst=out[down], src=result)
    return out


@for_rows("name, kernel, options", ("softmax", softmax_fused, {}), ("layer_norm", nki_layer_norm,
    {"eps": 1e-5}))  # fmt: skip
def test_a_row_takes_as_long_as_the_same_kernel(name, kernel, options):
    """The judge is the kernel interface: one set of instructions, one time."""
    shapes = [(512, 384), (384,), (384,)][: 3 if options else 1]
    inputs = tuple(parameter(n, as_type(s, "float32")) for n, s in enumerate(shapes))
    core = NeuronCore(values=False)
    lower(Graph(name, inputs, (apply(name, *inputs, **options),)), core)
    run = nki.run(kernel, *(np.ones(s, np.float32) for s in shapes))
    names = [[i.name for i in p.instructions] for p in (core.program, run.programs[0])]
    assert sorted(names[0]) == sorted(names[1])
    assert measure(core.program).makespan_ns == pytest.approx(run.timeline.makespan_ns, rel=1e-12)
