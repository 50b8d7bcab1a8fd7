"""NumPy's functions on lazy tensors.

Judge: NumPy in FP32; where it lacks a function, PyTorch or the formula.
"""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.texts import text_beside
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import Tensor, as_tensor

rng = np.random.default_rng(1)
A = rng.normal(size=(3, 4)).astype(np.float32)
B = rng.normal(size=(3, 4)).astype(np.float32)
C = rng.normal(size=(2, 3, 4)).astype(np.float32)
ROW, COLUMN, CUBE1 = A[0], A[:, :1], C[:1]
P = np.abs(A) + 0.5
N = rng.integers(-9, 9, (3, 4)).astype(np.int32)
T = rng.random((3, 4)) < 0.5


NAMES = {
    "A": A, "B": B, "C": C, "P": P, "N": N, "T": T, "ROW": ROW, "COLUMN": COLUMN, "CUBE1": CUBE1,
    "A_T": A.T.copy(), "B_T": B.T.copy(), "C_T": C.swapaxes(1, 2).copy(), "T_COLUMN": T[:, :1],
    "T_TURNED": T[::-1].copy(), "PLACES": np.array([[2, 0], [1, 1]], np.int32),
    "ONES": np.array([[1, 0], [1, 1]], np.int32), "ROWS": np.array([2, 0], np.int32),
}  # fmt: skip
UNARY = {"A": "abs cos exp negative sign sin square tanh floor isnan", "P": "log sqrt reciprocal",
         "N": "exp abs negative square"}  # fmt: skip
BINARY = """add divide equal greater greater_equal less less_equal maximum minimum multiply
    not_equal subtract"""
REDUCTIONS = ["sum", "max", "min", "mean", "var", "any", "all"]
AXES = [None, 0, -1, 1, (0, 2), (-1, 0), (0, 1, 2)]
KEYS = ["0", "-1", "1, 2", "..., 0", ":, 1", "1:", "::2", "0, ..., None", "None, 1", ":, 2:0:-1",
        "::-1", "1, -1:None:-2", "2:1", "...", "5:9,", ":, None, 2", "-2"]  # fmt: skip
#: Expressions with `n` for NumPy, here or there.
CASES = [
    *text_beside(__file__, "numpy_cases.txt").splitlines(),
    *(f"n.{name}({of})" for of, names in UNARY.items() for name in names.split()),
    *(f"n.{name}(A, B)" for name in BINARY.split()),
    *(f"n.{name}(C, axis={axis}{kept})"
      for name in REDUCTIONS for axis in AXES for kept in ("", ", keepdims=True")),
    *(f"A[{key}]" for key in KEYS),
]  # fmt: skip


@for_each("case", CASES)
def test_function_gives_what_numpy_gives(case):
    device = Device()
    lazy = {name: as_tensor(array, device) for name, array in NAMES.items()}
    tensors, wanted = eval(case, {"n": xnp, **lazy}), eval(case, {"n": np, **NAMES})
    several = isinstance(wanted, list | tuple)
    tensors, wanted = (tensors, wanted) if several else ([tensors], [wanted])
    device.mark_step()
    for tensor, array in zip(tensors, map(np.asarray, wanted), strict=True):
        made = tensor.numpy()
        assert made.shape == array.shape == tensor.shape
        assert made.dtype.kind == array.dtype.kind
        np.testing.assert_allclose(made, array, rtol=3e-6, atol=1e-6)


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
