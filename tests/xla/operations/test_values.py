"""Values of every operation.  Judges: NumPy and PyTorch, in float64."""

import numpy as np
import pytest

from tests.for_each import for_each
from tests.xla.operations.cases import all_cases, values
from tests.xla.operations.cases_math import f, i
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations import apply, parameter

CASES = all_cases()


def wide(array):
    return np.asarray(array, np.float64) if array.dtype.kind == "f" else array


def assert_close(got, want, dtype="float32"):
    error = {"float32": 4e-6, "bfloat16": 2.0**-7, "float16": 2.0**-10}.get(dtype, 0)
    want = np.asarray(want).astype(np.float64)
    scale = max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(
        np.asarray(got).astype(np.float64), want, rtol=error, atol=error * scale
    )


@for_each("case", [c for c in CASES if c.numpy], ids=str)
def test_values_are_numpys(case):
    graph, arrays = case.graph(), case.arrays()
    (got,), want = values(graph, arrays), case.numpy(*map(wide, arrays))
    assert got.shape == graph.outputs[0].shape == np.shape(want)
    assert_close(got, want, graph.outputs[0].dtype)


@pytest.mark.judge
@pytest.mark.parametrize("case", [c for c in CASES if c.torch], ids=str)
def test_values_are_pytorchs(case):
    torch = pytest.importorskip("torch")
    graph, arrays = case.graph(), case.arrays()
    (got,), want = values(graph, arrays), case.torch(*(torch.tensor(wide(a)) for a in arrays))
    assert_close(got, want.detach().numpy())


@for_each("case", CASES, ids=str)
def test_a_leading_axis_of_replicas_is_one_replica_after_the_other(case):
    graph, replicas = case.graph(), case.arrays(lead=(3,))
    (together,) = values(graph, replicas, replicas=3)
    for r in range(3):
        (alone,) = values(graph, [a[r] for a in replicas])
        assert_close(together[r], alone, graph.outputs[0].dtype)


@for_each("case", [c for c in CASES if len(c.types) > 1], ids=str)
def test_replicas_may_share_an_input(case):
    graph, replicas = case.graph(), case.arrays(lead=(3,))
    (shared,) = case.arrays(seed=1)[-1:]
    (together,) = values(graph, [*replicas[:-1], shared], replicas=3)
    for r in range(3):
        (alone,) = values(graph, [*(a[r] for a in replicas[:-1]), shared])
        assert_close(together[r], alone, graph.outputs[0].dtype)


NARROW = [c for c in CASES if c.of_dtype("bfloat16").graph().outputs[0].dtype == "bfloat16"]


@for_each("case", NARROW, ids=str)
def test_bfloat16_results_are_rounded_once(case):
    graph = case.of_dtype("bfloat16").graph()
    narrow = case.of_dtype("bfloat16").arrays()
    (got,) = values(graph, narrow)
    (exact,) = values(case.graph(), narrow)
    bits = np.asarray(got, np.float32).view(np.uint32)
    assert not np.any(bits & 0xFFFF)
    assert_close(got, exact, "bfloat16")


def test_a_label_beyond_the_classes_is_named():
    inputs = parameter(0, f(2, 3)), parameter(1, i(2))
    graph = Graph("loss", inputs, (apply("cross_entropy", *inputs),))
    with pytest.raises(IndexError, match="label 3 is out of range; 3 classes"):
        values(graph, [np.zeros((2, 3), np.float32), np.int32([0, 3])])
