"""Values that wait.  Judges: the same program computed at once, NumPy on whole numbers (exact)."""

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trainium_edu.neuroncore.engines  # noqa: F401  fills the instruction set
import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.neuroncore.execution import deferred as waiting
from trainium_edu.neuroncore.execution import products as blas
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.nki.examples import matmul

BF16 = ml_dtypes.bfloat16


@pytest.fixture
def helpers():
    """Let helpers take every product, however small, on any machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blas, "_cpus", lambda: 3)
        patch.setattr(blas, "_WORTH_HELP", 1)
        with blas.one_blas_thread():
            yield


def operand(core, values, dtype="bfloat16"):
    view = core.sbuf(values.shape, dtype)
    core.dma_copy(dst=view, src=core.hbm(values.astype(view.dtype.storage)))
    return view


def whole_numbers(shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


# -- a random program gives the same, put off or at once --------------------------------------

ROWS, M, N = 8, 8, 12
part = st.sampled_from([slice(None), slice(0, 6), slice(4, 12), slice(6, 12)])
step = st.one_of(
    st.tuples(st.just("load"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("matmul"), st.integers(0, 3), st.integers(0, 2), part,
              st.sampled_from([None, None, None, True, False])),
    st.tuples(st.just("to_operand"), st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just("add"), st.integers(0, 2), st.integers(0, 1), part),
    st.tuples(st.just("copy"), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.just("fill"), st.integers(0, 4), part),
    st.tuples(st.just("store"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("fetch"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("look"), st.integers(0, 4)),
)  # fmt: skip


def run_steps(steps, *, is_eager, rounding="nearest"):
    """Run a program of whole numbers; return everything that it left."""
    core = NeuronCore(rounding=rounding, seed=3)
    core.waiting.is_eager = is_eager
    # the stationary is [8, 8], a part of each operand [8, 12]; the last operand is FP32
    operands = [core.sbuf((ROWS, N), d) for d in ("bfloat16", "bfloat16", "float16", "float32")]
    sums = [core.psum((M, N)), core.psum((M, N)), core.psum((M, N), address=0)]
    kept = [core.sbuf((M, N)), core.sbuf((M, N), "bfloat16")]
    caller = np.zeros((M, N), np.float32)
    hbm = [core.hbm((M, N), "float32"), core.hbm(caller)]
    looked = []
    every = slice(None)
    for what, a, *rest in steps:
        if what == "load":
            numbers = whole_numbers((ROWS, N), rest[0]).astype(operands[a].dtype.storage)
            core.dma_copy(dst=operands[a], src=core.hbm(numbers))
        elif what == "matmul":
            dst, columns, accumulate = rest
            other = 3 if a == 3 else (a + dst) % 3
            core.nc_matmul(
                dst=sums[dst].sliced(every, columns),
                stationary=operands[a].sliced(every, slice(M)),
                moving=operands[other].sliced(every, columns), accumulate=accumulate,
            )  # fmt: skip
        elif what == "to_operand":  # clamped, so that all sums stay exact in FP32
            core.tensor_scalar(dst=operands[rest[0]], data=sums[a], op0="minimum", operand0=4.0,
                               op1="maximum", operand1=-4.0)  # fmt: skip
        elif what == "add":
            into = kept[rest[0]].sliced(every, rest[1])
            core.tensor_tensor(dst=into, data1=into, data2=sums[a].sliced(every, rest[1]), op="add")
        elif what == "copy":
            core.tensor_copy(dst=kept[rest[0]], src=sums[a])
        elif what == "fill":
            core.memset(dst=[*sums, *kept][a].sliced(every, rest[0]), value=1.0)
        elif what == "store":
            core.dma_copy(dst=hbm[rest[0]], src=kept[a])
            looked.append(caller.copy())  # the caller's own array is never late
        elif what == "fetch":
            core.dma_copy(dst=kept[a], src=hbm[rest[0]])
        else:
            looked.append(core.value([*sums, *kept][a]))
    looked += [core.value(view) for view in (*operands, *sums, *kept, *hbm)]
    notes = [(kind, at, role, info.name) for kind, at, role, info in core.notes]
    record = [(i.name, i.engine, i.accesses, i.work) for i in core.program.instructions]
    return looked, notes, record


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@settings(max_examples=150, deadline=None)
@given(steps=st.lists(step, min_size=4, max_size=40))
def test_waiting_changes_no_number_and_no_note(rounding, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blas, "_cpus", lambda: 3)
        patch.setattr(blas, "_WORTH_HELP", 1)
        patch.setattr(waiting, "_LONGEST", 3)
        patch.setattr(waiting, "_MOST_WORK", 8 * ROWS * M * N)
        patch.setattr(waiting, "_MOST_CALLS", 5)
        with blas.one_blas_thread():
            late = run_steps(steps, is_eager=False, rounding=rounding)
    at_once = run_steps(steps, is_eager=True, rounding=rounding)
    assert late[1:] == at_once[1:]
    for one, two in zip(late[0], at_once[0], strict=True):
        np.testing.assert_array_equal(one.astype(np.float32), two.astype(np.float32))


# -- what waits, and for how long -------------------------------------------------------------


def test_products_of_one_tile_become_one(monkeypatch):
    shapes = []
    compute = blas.Product.compute

    def seen(product):
        if not product.is_done:
            shapes.append((product._operands[0].shape, product._operands[1].shape))
        compute(product)

    monkeypatch.setattr(blas.Product, "compute", seen)
    core = NeuronCore()
    w, x = whole_numbers((64, 16)), whole_numbers((64, 20), 1)
    ws, xs = operand(core, w), operand(core, x)
    dst, out = core.psum((16, 20)), core.sbuf((16, 20))
    for _ in range(5):
        core.nc_matmul(dst=dst, stationary=ws, moving=xs)
    core.tensor_copy(dst=out, src=dst)
    assert shapes == []
    np.testing.assert_array_equal(core.value(out), 5 * w.T @ x)
    assert shapes[0] == ((16, 320), (320, 20))
    np.testing.assert_array_equal(core.value(dst), 5 * w.T @ x)
    assert not core.waiting.buffers


def test_operands_may_be_overwritten_while_a_product_waits():
    core = NeuronCore()
    w, x = whole_numbers((64, 16)), whole_numbers((64, 20), 1)
    ws, xs, dst = operand(core, w), operand(core, x), core.psum((16, 20))
    core.nc_matmul(dst=dst, stationary=ws, moving=xs)
    core.memset(dst=ws, value=0.0)
    core.memset(dst=xs, value=1.0)
    assert core.waiting.buffers
    np.testing.assert_array_equal(core.value(dst), w.T @ x)


def test_work_that_nobody_looks_at_is_bounded(monkeypatch):
    monkeypatch.setattr(waiting, "_MOST_WORK", 4 * 64 * 16 * 20)
    core = NeuronCore()
    ws, xs = operand(core, whole_numbers((64, 16))), operand(core, whole_numbers((64, 20), 1))
    for _ in range(10):
        core.nc_matmul(dst=core.psum((16, 20)), stationary=ws, moving=xs)
        assert len(core.waiting.buffers) <= 4


def test_a_kernel_sees_finished_numbers_where_it_looks():
    seen = []

    @nki.jit
    def look(w, x):
        sums = nl.ndarray((16, 20), nl.float32, buffer=nl.psum)
        out = nl.ndarray((16, 20), nl.float32, buffer=nl.shared_hbm)
        ws, xs = nl.load(w), nl.load(x)
        for _ in range(3):
            nisa.nc_matmul(dst=sums, stationary=ws, moving=xs)
            seen.append(np.asarray(sums))
        nl.store(out, sums)
        return out

    w, x = whole_numbers((64, 16)), whole_numbers((64, 20), 1)
    got = nki.simulate(look)(w.astype(BF16), x.astype(BF16))
    for times, numbers in enumerate(seen, 1):
        np.testing.assert_array_equal(numbers, times * w.T @ x)
    np.testing.assert_array_equal(got, 3 * w.T @ x)


# -- helpers, threads, interrupts -------------------------------------------------------------


def blocked(a, b):
    return nki.run(matmul.fully_blocked, a, b, block_m=1, block_n=1, block_k=2)


def normal(seed):
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(s).astype(BF16) for s in ((512, 256), (512, 1024))]


def test_a_kernel_leaves_the_same_record_and_the_same_time_put_off_or_at_once(monkeypatch):
    late = blocked(*normal(0))
    monkeypatch.setattr(waiting.Waiting, "is_eager", True)
    at_once = blocked(*normal(0))
    assert late.notes == at_once.notes
    assert [i.accesses for i in late.program.instructions] == [
        i.accesses for i in at_once.program.instructions
    ]
    assert late.timeline.makespan_ns == at_once.timeline.makespan_ns
    assert list(map(str, late.warnings)) == list(map(str, at_once.warnings))
    difference = np.abs(late.outputs.astype(np.float32) - at_once.outputs.astype(np.float32))
    assert (difference <= 2.0**-7 * np.abs(late.outputs.astype(np.float32)) + 1e-3).all()


def test_the_bits_do_not_depend_on_the_number_of_cpus(monkeypatch):
    outputs = []
    for cpus in (1, 2, 4):
        monkeypatch.setattr(blas, "_cpus", lambda cpus=cpus: cpus)
        outputs.append(blocked(*normal(1)).outputs.tobytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_kernels_run_in_several_threads_at_once(helpers):
    pairs = [[whole_numbers(s, k) for s in ((512, 128), (512, 512))] for k in range(8)]

    def multiply(pair):
        return nki.simulate(matmul.blocked)(*(a.astype(BF16) for a in pair), block_m=1, block_n=1)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(multiply, pairs))
    for (w, x), got in zip(pairs, found, strict=True):
        np.testing.assert_array_equal(got, (w.T @ x).astype(BF16))


def test_numbers_that_an_interrupt_lost_are_refused_and_others_stay(monkeypatch):
    core = NeuronCore()
    ws, xs = operand(core, whole_numbers((64, 16))), operand(core, whole_numbers((64, 20), 1))
    dst, other = core.psum((16, 20)), core.psum((16, 20))
    core.nc_matmul(dst=other, stationary=ws, moving=xs)
    expected = core.value(other)
    core.nc_matmul(dst=dst, stationary=ws, moving=xs)

    def interrupt(product):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(blas.Product, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            core.value(dst)
    with pytest.raises(RuntimeError, match=r"interrupted while it computed.*run the kernel again"):
        core.value(dst)
    np.testing.assert_array_equal(core.value(other), expected)


def test_an_error_inside_a_kernel_leaves_the_next_run_alone():
    w, x = whole_numbers((64, 16)), whole_numbers((64, 20), 1)

    @nki.jit
    def fails(w, x):
        sums = nl.ndarray((16, 20), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=nl.load(w), moving=nl.load(x))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(w.astype(BF16), x.astype(BF16))
    got = nki.simulate(matmul.basic)(w.astype(BF16), x.astype(BF16))
    np.testing.assert_array_equal(got, (w.T @ x).astype(BF16))
