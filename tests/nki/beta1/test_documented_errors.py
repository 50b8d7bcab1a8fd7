"""Each error that AWS documents for the older interface is refused, or warned of, by its name.

Judge: AWS's page ``nki.errors`` of SDK 2.20 to 2.26 (``general/nki/api/nki.errors.rst``), whose
names are the rows and whose examples the kernels follow.
"""

import signal

import numpy as np
import pytest

import trainium_edu.nki.beta1 as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
from trainium_edu import nki as current

X = np.ones((128, 128), np.float32)

#: What refuses -> kernels, as lines after ``t = nl.load(x)``; each is refused.
REFUSED = {
    "err_dynamic_control_flow_not_supported": """
        if t[0:1, 0:1]: pass
        if nl.load(x[0:1, 0:1]): pass
        if nl.max(t, axis=[1]) > 0: pass
        y = 3.0 if t[0:1, 0:1] > 0 else 5.0
        while nl.sum(t, axis=[1]) < -1e9: pass
        while t: pass
        while x: t = t + 1
        y = [k for k in range(3) if t > 0]
        y = bool(t)
        y = any([t > 1, t > 3])
        y = sorted([t, t])
        y = max(t, t)
        y = t in [t + 1]""",
    "err_ambiguous_tensor_truth_value": """
        y = not (t > 0)
        y = (t > 0) and (t < 1)
        y = (t > 0) or (t < 1)
        y = 0 < t < 1""",
    "err_control_flow_condition_depending_on_arange": """
        if f > 100: pass
        if f: pass
        if f > 100 and p < 3: pass
        if 0 <= f < 100: pass
        y = 3.0 if f > 100 else 5.0
        while f > 100: pass
        while nl.mgrid[0:128, 0:128].p < 200: pass
        assert f < 128
        y = not (f > 100)
        y = bool(f > 100)
        y = any([f > 100, p > 3])
        y = all([f > 100, p > 3])
        y = [k for k in range(3) if f > 100]
        nl.store(out[p, f], t[p, f], mask=(p < 64 or f < 64))
        nl.store(out[p, f], t[p, f], mask=not p < 64)""",
    "err_cannot_assign_to_index": """
        f[0, 5] = 1024
        (f > 5)[0, 5] = True""",
    "err_unsupported_expression_in_mask": """
        nl.store(out, t, mask=t > 2)""",
}  # fmt: skip
ROWS = [
    (name, line.strip()) for name, lines in REFUSED.items() for line in lines.strip().splitlines()
]


def kernel_of(line):
    source = (
        "def kernel(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    p, f = nl.arange(128)[:, None], nl.arange(128)[None, :]\n"
        "    t = nl.load(x)\n"
        "    nl.store(out, t)\n"
        f"    {line}\n"
        "    return out\n"
    )
    space = {"nl": nl, "nisa": nisa}
    exec(compile(source, "<kernel>", "exec"), space)
    return space["kernel"]


@pytest.fixture
def seconds():
    """Fail what hangs."""

    def stop(*_):
        raise TimeoutError("the kernel hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("values", [True, False], ids=("values", "times"))
@pytest.mark.parametrize(("name", "line"), ROWS)
def test_error_carries_its_documented_name(name, line, values, seconds):
    with pytest.raises((TypeError, ValueError), match=name):
        current.run(nki.jit(kernel_of(line)), X, values=values)


def test_tensor_in_hbm_is_true_with_one_warning():
    kernel = nki.jit(kernel_of("out = out if x else x"))
    with pytest.warns(UserWarning, match="err_ambiguous_tensor_truth_value") as caught:
        np.testing.assert_array_equal(kernel(X), X)
    assert len(caught) == 1


@pytest.mark.parametrize("values", [True, False], ids=("values", "times"))
def test_assert_may_look_at_a_fresh_result(values):
    current.run(nki.jit(kernel_of("assert t > 0")), X, values=values)
    if values:
        with pytest.raises(AssertionError):
            current.run(nki.jit(kernel_of("assert t > 1")), X)


NUMBERS = ("int(t)", "float(t)", "round(t)", "range(t)", "[1, 2][t]", "complex(t)", "t // 2",
           "t @ t", "f'{t:.3f}'", "1.0 in t")  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_number_of_a_tile_is_refused_in_our_words(text):
    with pytest.raises(TypeError, match="numbers are on the chip") as caught:
        nki.jit(kernel_of(f"y = {text}"))(X)
    assert "Operation" not in str(caught.value)
