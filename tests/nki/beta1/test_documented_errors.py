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
from trainium_edu import nki as current
from trainium_edu.nki.beta1 import compiler
from trainium_edu.specs.errors import NkiValidationError

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
        while x: pass
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
        nl.store(out, t, mask=t > 2)
        nl.store(out[p, f], t[p, f], mask=(f % 4) < 2)""",
    "err_1d_arange_not_supported": """
        y = nl.exp(t[nl.arange(64), 0])""",
    "err_activation_bias_invalid_type": """
        y = nisa.activation(nl.exp, t, bias=nisa.memset((128, 1), 1, np.int8))""",
    "err_activation_scale_invalid_type": """
        y = nisa.activation(nl.exp, t, scale=nisa.memset((128, 1), 1.2, np.float16))""",
    "err_activation_scale_scalar_or_vector": """
        y = nisa.activation(nl.exp, t, scale=nisa.memset((1, 128), 1.2, np.float32))
        y = nisa.activation(nl.exp, t, scale=nisa.memset((128, 128), 1.2, np.float32))""",
    "err_annotation_shape_mismatch": """
        d: nt.tensor[128, 512] = nl.load(x); nl.store(out, d)
        d: tensor[128, 2 * len(x)] = nl.exp(t); nl.store(out, d)""",
    "err_cannot_update_immutable_parameter": """
        nl.store(x, t)""",
    "err_copy_dynamic_indirect_indices_not_natively_supported": """
        y = nl.zeros((128, 8, 4), np.float32)[0, nl.zeros((8, 1), np.int32), nl.arange(4)]""",
    "err_exceed_max_supported_dimension": """
        y = nl.transpose(nl.zeros((64, 32, 2), np.float32))""",
    "err_failed_to_infer_tile_from_local_tensor": """
        y = nl.add(nl.zeros((4, nl.par_dim(8), 8), np.float32), 32)""",
    "err_hbm_tensor_with_init_value_not_supported": """
        y = nl.full((3, 128, 512), 1.0, np.float32, buffer=nl.shared_hbm)""",
    "err_indirect_indices_free_dim": """
        y = nl.load(x[p, nl.zeros((128, 1), np.int32)])""",
    "err_nested_kernel_with_spmd_grid": """
        y = nki.jit(lambda a: a)[4, 4](x)""",
    "err_num_partition_exceed_arch_limit": """
        y = nl.zeros((256, 1024), np.float32)""",
    "err_store_dst_shape_smaller_than_other_shape": """
        y = nl.zeros((128, 1), np.float32); y[...] = t""",
    "err_tensor_access_out_of_bound": """
        nl.store(out[p, 64 + f], t[p, f])""",
    "err_tensor_creation_on_scratchpad_with_init_value_not_supported": """
        y = nl.full((128, 4), 1.0, np.float32, buffer=compiler.sbuf.mod_alloc(base_addr=0))""",
    "err_tensor_output_not_written_to": """
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)""",
    "err_unexpected_output_dependencies": """
        for i in nl.affine_range(4): nl.store(out, nl.exp(t) * i)
        for i in nl.affine_range(4): nl.store(out[p, f], t * i, mask=p < 64)
        for i in nl.affine_range(2): y = [nl.store(out[j], t[0]) for j in nl.affine_range(3)]""",
    "err_unsupported_memory": """
        y = nl.load(t)
        y = nl.exp(x)""",
    "err_unsupported_mixing_basic_advanced_tensor_indexing": """
        y = nl.exp(t[p, :])""",
    # Those of the instructions, in the words of both interfaces.
    "the same partitions and the same number of elements": """
        y = nisa.tensor_tensor(t, nl.zeros((1, 128), np.float32), op=nl.add)""",
    "partition dimension 512 exceeds maximum 128": """
        y = nl.transpose(nl.zeros((128, 512), np.float32))""",
    "rows are chosen by an index at run time": """
        y = nl.load_transpose2d(x[nl.zeros((128, 1), np.int32), nl.arange(128)[None, :]])""",
}  # fmt: skip
#: What runs with one warning, of that name.
WARNED = {
    "err_ambiguous_tensor_truth_value": """
        out = out if x else x""",
    "err_bias_tensor_must_be_specified_in_allocation": """
        y = placed(0); y[...] = nisa.activation(nl.exp, t)
        y = placed(0); y[...] = nl.exp(t)""",
    "err_local_variable_used_out_of_scope": """
        if len(x) > 1: y = nl.load(x)""",
    "err_shared_hbm_must_in_kernel_level": """
        for i in range(2): y = nl.ndarray((128, 128), np.float32, buffer=nl.shared_hbm)
        out = copied(x)""",
    "err_tensor_output_not_written_to": """
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm); nl.store(out[:64], t[:64])""",
    "err_unexpected_output_dependencies": """
        for i in nl.affine_range(4): t[0:32, 0:4] = i
        for i, j in zip(nl.affine_range(4), "abcd"): t[...] = nl.load(x)""",
    "err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel": """
        y = placed(0); y[...] = nisa.nc_transpose(t)""",
}  # fmt: skip
#: What published kernels do, and runs without a word.
TAKEN = """
        nl.store(out[p, f], t[p, f], mask=(p < 64 and f < 32))
        nl.store(out[p, f], t[p, f], mask=(p < 64 and 0 <= f < 32))
        y = 1 if x is not None else 2
        d: nt.tensor[128, 128] = nl.load(x); nl.store(out, d)
        for i in nl.sequential_range(4): nl.store(out, t * i)
        for i in nl.affine_range(4): nl.store(out[i * 32 : i * 32 + 32], t[i * 32 : i * 32 + 32])
        for i in range(4): [nl.store(out[j], t[j]) for j in nl.affine_range(3)]
        for i in nl.affine_range(4): t += 1
        for i in nl.affine_range(4): t[...] = nl.loop_reduce(nl.load(x), np.add, [i])
        for i in nl.affine_range(4): t[...] = nl.add(t, 1)
        for i in nl.affine_range(4): y = nl.ndarray((128, 4), np.float32); y[...] = i
        for i in nl.affine_range(4): y = nl.zeros((128, 4), np.float32); y[...] = i; y[...] = 2
        y = nl.load(x[nl.affine_range(4)]); assert list(nl.affine_range(1, 7, 2)) == [1, 3, 5]
        y = nisa.activation(nl.exp, t, bias=nisa.memset((128, 1), 1, nl.bfloat16), scale=2)"""


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
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out


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


@pytest.mark.parametrize("line", rows(REFUSED["err_dynamic_control_flow_not_supported"]))
def test_branch_is_refused_without_source(line, seconds):
    line = line.replace("while x: pass", "while x: t = t + 1")
    with pytest.raises(TypeError, match="err_dynamic_control_flow_not_supported"):
        nki.jit(kernel_of(line, has_source=False))(X)


@pytest.mark.parametrize(("name", "line"), [(n, row) for n, t in WARNED.items() for row in rows(t)])
def test_warning_carries_its_documented_name(name, line):
    with pytest.warns(UserWarning, match=name) as caught:
        nki.jit(kernel_of(line))(X)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("line", rows(TAKEN))
def test_published_habits_run_without_a_word(line):
    nki.jit(kernel_of(line))(X)


def test_annotated_argument_is_returned():
    source = "def kernel(x: nt.mutable_tensor):\n    nl.store(x, nl.load(x) + 1)\n    return {}"
    for result, is_refused in (("None", True), ("x", False)):
        space = {"nl": nl, "nt": nt}
        exec(source.format(result), space)
        kernel = nki.jit(space["kernel"])
        if is_refused:
            with pytest.raises(NkiValidationError, match="err_mutable_parameter_not_returned"):
                kernel(X.copy())
        else:
            np.testing.assert_array_equal(kernel(X.copy()), X + 1)


def test_instances_of_a_grid_write_to_places_of_their_own():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x) * nl.program_id(0))
        return out

    nki.jit(kernel)[1](X)
    with pytest.warns(UserWarning, match="err_unexpected_output_dependencies"):
        nki.jit(kernel)[2](X)


def test_names_work_in_a_kernel_only():
    with pytest.raises(RuntimeError, match="err_nki_api_outside_of_nki_kernel"):
        nl.zeros((4, 4), np.float32)


@pytest.mark.parametrize(("part", "name"), [(slice(0, 64), "only a part"), (None, "no part")])
def test_current_interface_warns_of_outputs_that_are_not_written(part, name):
    import trainium_edu.nki.language as now

    def kernel(x):
        out = now.ndarray(x.shape, x.dtype, buffer=now.shared_hbm)
        if part is not None:
            now.store(out[part], now.load(x[part]))
        return out

    with pytest.warns(UserWarning, match=f"{name} is written.*err_tensor_output_not_written"):
        current.run(kernel, X)


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
