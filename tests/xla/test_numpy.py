"""NumPy's functions on lazy tensors.

Judge: NumPy in FP32; where it lacks a function, PyTorch or the formula.
"""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.tensor import Tensor, as_tensor

rng = np.random.default_rng(1)
A = rng.normal(size=(3, 4)).astype(np.float32)
B = rng.normal(size=(3, 4)).astype(np.float32)
C = rng.normal(size=(2, 3, 4)).astype(np.float32)
ROW, COLUMN, CUBE1 = A[0], A[:, :1], C[:1]
P = np.abs(A) + 0.5
N = rng.integers(-9, 9, (3, 4)).astype(np.int32)
T = rng.random((3, 4)) < 0.5


def both(function, *arrays, **options):
    """Return what a function gives on a device and in NumPy."""
    device = Device()
    made = function(xnp, *(as_tensor(a, device) for a in arrays), **options)
    wanted = function(np, *arrays, **options)
    made = made if isinstance(made, list | tuple) else [made]
    wanted = wanted if isinstance(wanted, list | tuple) else [wanted]
    assert len(made) == len(wanted)
    device.mark_step()
    return [(m.numpy(), np.asarray(w), m) for m, w in zip(made, wanted, strict=True)]


def named(name, *arguments, **options):
    return lambda np_, *arrays: getattr(np_, name)(*arrays, *arguments, **options)


UNARY = dict.fromkeys(
    ["abs", "cos", "exp", "negative", "sign", "sin", "square", "tanh", "floor", "isnan"], A
) | dict.fromkeys(["log", "sqrt", "reciprocal"], P)
BINARY = ["add", "divide", "equal", "greater", "greater_equal", "less", "less_equal", "maximum",
          "minimum", "multiply", "not_equal", "subtract"]  # fmt: skip
REDUCTIONS = ["sum", "max", "min", "mean", "var", "any", "all"]
AXES = [None, 0, -1, 1, (0, 2), (-1, 0), (0, 1, 2)]
KEYS = [
    0, -1, (1, 2), (..., 0), (slice(None), 1), slice(1, None), slice(None, None, 2), (0, ..., None),
    (None, 1), (slice(None), slice(2, 0, -1)), slice(None, None, -1), (1, slice(-1, None, -2)),
    slice(2, 1), ..., (slice(5, 9),), (slice(None), None, 2), -2,
]  # fmt: skip
CASES = {
    **{f"{name}": (named(name), (a,)) for name, a in UNARY.items()},
    **{f"{name} of integers": (named(name), (N,)) for name in ("exp", "abs", "negative", "square")},
    **{f"{name}": (named(name), (A, B)) for name in BINARY},
    **{
        f"add {a.shape} {b.shape}": (named("add"), (a, b))
        for a, b in [(A, ROW), (ROW, A), (A, COLUMN), (COLUMN, ROW), (C, A), (A, CUBE1),
                     (C, C[:, :1])]
    },
    **{f"{name} over {axis}": (named(name, axis=axis), (C,))
       for name in REDUCTIONS for axis in AXES},
    **{f"{name} kept over {axis}": (named(name, axis=axis, keepdims=True), (C,))
       for name in REDUCTIONS for axis in AXES},
    "var, ddof": (named("var", axis=0, ddof=1), (C,)),
    "sum of integers": (named("sum", axis=0), (N,)),
    "sum of truths": (named("sum", axis=1), (T,)),
    "max of integers": (named("max", axis=0), (N,)),
    "mean of integers": (named("mean", axis=0), (N,)),
    **{f"argmax along {axis}": (named("argmax", axis=axis), (C,)) for axis in (None, 0, 1, -1)},
    "argmax kept": (named("argmax", axis=1, keepdims=True), (C,)),
    **{f"index {key}": (lambda _, x, key=key: x[key], (A,)) for key in KEYS},
    "reshape": (named("reshape", (4, -1)), (A,)),
    "reshape to one axis": (named("reshape", -1), (A,)),
    "method reshape": (lambda _, x: x.reshape(2, -1), (A,)),
    "method transpose": (lambda _, x: x.transpose(1, 2, 0), (C,)),
    "transpose": (named("transpose"), (C,)),
    "transpose, axes": (named("transpose", (0, 2, 1)), (C,)),
    "T": (lambda _, x: x.T, (A,)),
    "swapaxes": (named("swapaxes", 0, -1), (C,)),
    **{f"expand_dims {axis}": (named("expand_dims", axis), (A,)) for axis in (0, 1, 2, -1, -3)},
    "squeeze": (named("squeeze"), (CUBE1,)),
    "squeeze an axis": (named("squeeze", 0), (CUBE1,)),
    "broadcast_to": (named("broadcast_to", (2, 3, 4)), (COLUMN,)),
    "concatenate": (lambda n, a, b: n.concatenate([a, b]), (A, B)),
    "concatenate, axis": (lambda n, a, b: n.concatenate([a, b], axis=-1), (A, B)),
    **{f"stack {axis}": (lambda n, a, b, axis=axis: n.stack([a, b], axis=axis), (A, B))
       for axis in (0, 1, -1)},
    "split": (named("split", 2, axis=1), (A,)),
    "split at places": (named("split", [1, 3], axis=-1), (A,)),
    "flip": (named("flip"), (A,)),
    "flip an axis": (named("flip", axis=1), (C,)),
    "pad": (named("pad", 1), (A,)),
    "pad, each side": (named("pad", ((1, 0), (2, 3)), constant_values=7), (A,)),
    "pad integers": (named("pad", ((1, 0), (0, 1)), constant_values=-1), (N,)),
    "clip": (named("clip", -0.5, 0.5), (A,)),
    "clip below": (lambda n, x: n.clip(x, 0.0, None), (A,)),
    "where": (named("where"), (T, A, B)),
    "where, numbers": (lambda n, c: n.where(c, 1, 0), (T,)),
    "where, one number": (lambda n, c, a: n.where(c, a, 0), (T, A)),
    "where, stretched": (named("where"), (T[:, :1], ROW, A)),
    "logical_and": (named("logical_and"), (T, T[::-1].copy())),
    "logical_or": (named("logical_or"), (T, T[::-1].copy())),
    "logical_not": (named("logical_not"), (T,)),
    "and, or, not": (lambda _, a, b: (a & b) | ~a, (T, T[::-1].copy())),
    "take": (lambda n, x, i: n.take(x, i, axis=0), (A, np.array([[2, 0], [1, 1]], np.int32))),
    **{f"take along {axis}": (lambda n, x, i, axis=axis: n.take(x, i, axis=axis),
                              (C, np.array([[1, 0], [1, 1]], np.int32))) for axis in (1, -1)},
    "rows by a tensor": (lambda _, x, i: x[i], (A, np.array([2, 0], np.int32))),
    **{f"matmul {a.shape} {b.shape}": (named("matmul"), (a, b)) for a, b in [
        (A, B.T.copy()), (C, B.T.copy()), (A, C.swapaxes(1, 2).copy()), (ROW, A.T.copy()), (A, ROW),
        (ROW, ROW), (C, ROW), (ROW, C.swapaxes(1, 2).copy()),
        (C[:, None], C.swapaxes(1, 2)[None].copy()),
    ]},
    "abs, iteration, power": (lambda _, x: [abs(row) ** 2 for row in x], (A,)),
    "power": (lambda n, x: n.power(x, 3), (A,)),
    "reflected": (lambda _, x: 1.5 - x / 2 + 3 / x - 2 * x, (P,)),
}  # fmt: skip


@for_each("case", CASES)
def test_function_gives_what_numpy_gives(case):
    function, arrays = CASES[case]
    for made, wanted, tensor in both(function, *arrays):
        assert made.shape == wanted.shape == tensor.shape
        assert made.dtype.kind == wanted.dtype.kind
        np.testing.assert_allclose(made, wanted, rtol=3e-6, atol=1e-6)


@for_rows("make",
    lambda n, **o: n.zeros((2, 3), **o), lambda n, **o: n.ones(4, **o),
    lambda n, **o: n.full((2, 2), 2.5, **o), lambda n, **o: n.full((2,), 7, "int32", **o),
    lambda n, **o: n.arange(5, **o), lambda n, **o: n.arange(2, 9, 3, **o),
    lambda n, **o: n.arange(0.5, 2.0, 0.25, **o), lambda n, **o: n.arange(5, 0, -2, **o),
    lambda n, **o: n.arange(3, 3, **o),
)  # fmt: skip
def test_making_a_tensor_of_nothing_gives_what_numpy_gives(make):
    device = Device()
    made, wanted = make(xnp, device=device), make(np)
    device.mark_step()
    assert made.numpy().dtype.kind == wanted.dtype.kind
    np.testing.assert_array_equal(made.numpy(), wanted)
    assert xnp.zeros_like(made).type == made.type == xnp.ones_like(made).type


def test_what_numpy_lacks_gives_what_its_formula_says(device):
    x, labels = as_tensor(A, device), as_tensor([1, 0, 3], device)
    shifted = np.exp(A - A.max(-1, keepdims=True))
    soft = shifted / shifted.sum(-1, keepdims=True)
    column = np.exp(A) / np.exp(A).sum(0)
    centred = (A - A.mean(-1, keepdims=True)) / np.sqrt(A.var(-1, keepdims=True) + 1e-5)
    pairs = [
        (xnp.softmax(x), soft), (xnp.softmax(x, axis=0), column),
        (xnp.log_softmax(x), np.log(soft)), (xnp.sigmoid(x), 1 / (1 + np.exp(-A))),
        (xnp.silu(x), A / (1 + np.exp(-A))), (xnp.relu(x), A * (A > 0)),
        (xnp.rsqrt(xnp.square(x)), 1 / np.abs(A)), (xnp.one_hot(labels, 4), np.eye(4)[[1, 0, 3]]),
        (xnp.cross_entropy(x, labels), -np.log(soft[[0, 1, 2], [1, 0, 3]])),
        (xnp.layer_norm(x, xnp.ones(4, device=device), xnp.zeros(4, device=device)), centred),
        (x.astype("int32"), A.astype(np.int32)),
    ]  # fmt: skip
    device.mark_step()
    for made, wanted in pairs:
        np.testing.assert_allclose(made.numpy(), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.judge
def test_conv2d_gelu_and_erf_give_what_pytorch_gives(device):
    torch = pytest.importorskip("torch")
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in ((2, 3, 6, 5), (4, 3, 3, 2), (4,)))
    made = xnp.conv2d(*(as_tensor(a, device) for a in (x, w, b)), stride=2, padding=(1, 0))
    gelu, erf = xnp.gelu(as_tensor(A, device)), xnp.erf(as_tensor(A, device))
    device.mark_step()
    wanted = torch.nn.functional.conv2d(*map(torch.tensor, (x, w, b)), stride=2, padding=(1, 0))
    np.testing.assert_allclose(made.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    a = torch.tensor(A)
    np.testing.assert_allclose(gelu.numpy(), torch.nn.functional.gelu(a), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(erf.numpy(), torch.erf(a), rtol=1e-5, atol=1e-6)


def test_mean_of_a_narrow_format_is_rounded_once(device):
    """Judge: ml_dtypes' one rounding of the exact mean."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = rng.integers(0, 200, 1001).astype(np.float32)
    made = as_tensor(values, device, "bfloat16").mean()
    device.mark_step()
    assert made.item() == float(np.float32(values.mean()).astype(ml_dtypes.bfloat16))


def test_numpy_leaves_operators_to_tensors(device):
    x = as_tensor(A, device)
    for made, wanted in [(B + x, B + A), (np.float32(2) * x, 2 * A), (B.T @ x, B.T @ A)]:
        assert isinstance(made, Tensor)
        device.mark_step()
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert np.asarray(x).tolist() == A.tolist()


SENTENCES = {
    "axis 2 of a f32": lambda x: x.sum(2),
    "axis -3": lambda x: x.mean(axis=(0, -3)),
    "cannot become|do not fit": lambda x: x.reshape(5, -1),
    "only axes of size 1 stretch": lambda x: xnp.broadcast_to(x, (3, 8)),
    "the size there must be 1": lambda x: xnp.squeeze(x, 0),
    "not 3 equal": lambda x: xnp.split(x, 3, axis=1),
    "index 3 of an axis of size 3": lambda x: x[3],
    "3 indices for a f32": lambda x: x[0, 0, 0],
    "shapes must not depend on data": lambda x: x[x > 0],
    "the inner sizes are 4 and 3": lambda x: x @ x,
    "batches of a matmul": lambda x: xnp.zeros((2, 3, 4), device=x.device) @ xnp.zeros(
        (3, 4, 2), device=x.device),
    "takes one tensor or more": lambda x: xnp.concatenate([]),
    "dtype is 'float128'": lambda x: x.astype("float128"),
}  # fmt: skip


@for_each("sentence", SENTENCES)
def test_refusal_says_what_does_not_fit(sentence):
    raises(GraphError, sentence, SENTENCES[sentence], as_tensor(A, Device()))
