"""Judges: torch's own bit views, and the same bits after a way there and back."""

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.numerics.frameworks import as_array, framework_of, in_framework, is_array


def test_numpy_arrays_are_themselves():
    x = np.arange(3)
    assert as_array(x) is x
    assert in_framework(x, "numpy") is x
    assert framework_of(x) == "numpy"
    assert is_array(x)
    assert not is_array([1, 2])


@pytest.mark.judge
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.int16, np.uint16])
def test_every_code_of_16_bits_reaches_torch_and_comes_back(dtype):
    torch = pytest.importorskip("torch")
    codes = np.arange(2**16, dtype=np.uint16)
    there = in_framework(codes.view(dtype), "torch")
    assert framework_of(there) == "torch"
    assert is_array(there)
    assert str(there.dtype).removeprefix("torch.") == np.dtype(dtype).name
    bits = there.view(torch.int16).numpy().view(np.uint16)
    np.testing.assert_array_equal(bits, codes)
    np.testing.assert_array_equal(as_array(there).view(np.uint16), codes)


@pytest.mark.judge
@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn"])
def test_every_code_of_8_bits_reaches_torch_and_comes_back(name):
    pytest.importorskip("torch")
    codes = np.arange(2**8, dtype=np.uint8)
    there = in_framework(codes.view(getattr(ml_dtypes, name)), "torch")
    assert str(there.dtype) == f"torch.{name}"
    np.testing.assert_array_equal(as_array(there).view(np.uint8), codes)


@pytest.mark.judge
def test_a_torch_tensor_shares_its_memory_and_leaves_its_gradient():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3, requires_grad=True)
    as_array(tensor)[1] = 2
    assert tensor.tolist() == [0, 2, 0]
