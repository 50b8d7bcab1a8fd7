"""Each error that AWS documents for the older interface is refused, or warned of, by its name.

Judge: AWS's page ``nki.errors`` of SDK 2.20 to 2.26 (``general/nki/api/nki.errors.rst``), whose
names are the rows and whose examples the kernels follow.
"""

import linecache
import signal

import numpy as np
import pytest

import trainium_edu.nki.beta1 as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
import trainium_edu.nki.beta1.typing as nt
from tests.for_each import for_each, for_rows, raises
from tests.nki.beta1.cases import stored
from tests.texts import table_beside
from trainium_edu import nki as current
from trainium_edu.nki.beta1 import compiler
from trainium_edu.specs.errors import NkiValidationError

X = np.ones((128, 128), np.float32)

KERNELS = table_beside(__file__, "documented_errors.toml")
REFUSED, WARNED, TAKEN = (KERNELS[key] for key in ("refused", "warned", "taken"))


def rows(lines):
    """Return the lines of a text."""
    return [line.strip() for line in lines.strip().splitlines()]


ROWS = [(name, line) for name, lines in REFUSED.items() for line in rows(lines)]


def kernel_of(line, *, has_source=True):
    source = (
        "def kernel(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    p, f = nl.arange(128)[:, None], nl.arange(128)[None, :]\n"
        "    t = nl.load(x)\n"
        "    nl.store(out, t)\n"
        f"    {line}\n"
        f"    {'nl.store(out, y)' if line.startswith('if len') else ''}\n"
        "    return out\n"
    )
    name = f"<kernel {abs(hash(line))}>"
    if has_source:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    else:
        linecache.cache.pop(name, None)
    space = {"nl": nl, "nisa": nisa, "nki": nki, "np": np, "nt": nt, "compiler": compiler,
             "tensor": nki.tensor, "placed": placed, "copied": copied}  # fmt: skip
    exec(compile(source, name, "exec"), space)
    return space["kernel"]


def placed(address):
    place = compiler.sbuf.mod_alloc(base_addr=address)
    return nl.ndarray((128, 128), np.float32, buffer=place)


def copied(x):
    return stored(nl.load(x), x.dtype)


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
    raises((TypeError, ValueError), name, current.run, nki.jit(kernel_of(line)), X, values=values)


@pytest.mark.parametrize("line", rows(REFUSED["err_dynamic_control_flow_not_supported"]))
def test_branch_is_refused_without_source(line, seconds):
    line = line.replace("while x: pass", "while x: t = t + 1")
    with pytest.raises(TypeError, match="err_dynamic_control_flow_not_supported"):
        nki.jit(kernel_of(line, has_source=False))(X)


@for_each("name, line", [(n, row) for n, t in WARNED.items() for row in rows(t)])
def test_warning_carries_its_documented_name(name, line):
    with pytest.warns(UserWarning, match=name) as caught:
        nki.jit(kernel_of(line))(X)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
@for_each("line", rows(TAKEN))
def test_published_habits_run_without_a_word(line):
    nki.jit(kernel_of(line))(X)


def test_annotated_argument_is_returned():
    source = "def kernel(x: nt.mutable_tensor):\n    nl.store(x, nl.load(x) + 1)\n    return {}"
    for result, is_refused in (("None", True), ("x", False)):
        space = {"nl": nl, "nt": nt}
        exec(source.format(result), space)
        kernel = nki.jit(space["kernel"])
        if is_refused:
            raises(NkiValidationError, "err_mutable_parameter_not_returned", kernel, X.copy())
        else:
            np.testing.assert_array_equal(kernel(X.copy()), X + 1)


def test_instances_of_a_grid_write_to_places_of_their_own():
    def kernel(x):
        return stored(nl.load(x) * nl.program_id(0), x.dtype)

    nki.jit(kernel)[1](X)
    with pytest.warns(UserWarning, match="err_unexpected_output_dependencies"):
        nki.jit(kernel)[2](X)


def test_names_work_in_a_kernel_only():
    raises(RuntimeError, "err_nki_api_outside_of_nki_kernel", nl.zeros, (4, 4), np.float32)


@for_rows("part, name", (slice(0, 64), "only a part"), (None, "no part"))
def test_current_interface_warns_of_outputs_that_are_not_written(part, name):
    import trainium_edu.nki.language as now

    def kernel(x):
        out = now.ndarray(x.shape, x.dtype, buffer=now.shared_hbm)
        if part is not None:
            now.store(out[part], now.load(x[part]))
        return out

    with pytest.warns(UserWarning, match=f"{name} is written.*err_tensor_output_not_written"):
        current.run(kernel, X)


@for_each("values", [True, False], ids=("values", "times"))
def test_assert_may_look_at_a_fresh_result(values):
    current.run(nki.jit(kernel_of("assert t > 0")), X, values=values)
    if values:
        raises(AssertionError, "", current.run, nki.jit(kernel_of("assert t > 1")), X)


NUMBERS = ("int(t)", "float(t)", "round(t)", "range(t)", "[1, 2][t]", "complex(t)", "t // 2",
           "t @ t", "f'{t:.3f}'", "1.0 in t")  # fmt: skip


@for_each("text", NUMBERS)
def test_number_of_a_tile_is_refused_in_our_words(text):
    caught = raises(TypeError, "numbers are on the chip", nki.jit(kernel_of(f"y = {text}")), X)
    assert "Operation" not in str(caught)
