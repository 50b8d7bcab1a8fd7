"""The fast executor.  Judge: the eager one, bit for bit; NumPy on whole numbers (exact)."""

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import raises
from tests.nki.cases import stored
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.execution import deferred, products
from trainium_edu.neuroncore.execution.deferred import Deferred
from trainium_edu.neuroncore.recording.executor import Eager
from trainium_edu.nki.examples import attention, matmul, profiled, selective_scan
from trainium_edu.specs import NkiValidationError

BF16 = ml_dtypes.bfloat16


@pytest.fixture
def helpers():
    """Let helpers take every product, however small, on any machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "cpus", lambda: 3)
        patch.setattr(products, "_WORTH_HELP", 1)
        with products.one_blas_thread():
            yield


def operand(core, values, dtype="bfloat16"):
    view = core.sbuf(values.shape, dtype)
    core.dma_copy(dst=view, src=core.hbm(values.astype(view.dtype.storage)))
    return view


def normal(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def whole_numbers(shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


W, X = whole_numbers((64, 16)), whole_numbers((64, 20), 1)


# -- a random program gives the same bits, put off or at once ----------------------------------

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
    st.tuples(st.just("mistake"), st.integers(0, 4)),
)  # fmt: skip


def run_steps(steps, executor, rounding="nearest"):
    """Run a program; return everything that it left."""
    core = NeuronCore(rounding=rounding, seed=3, executor=executor)
    # the stationary is [8, 8], a part of each operand [8, 12]; the last operand is FP32
    operands = [core.sbuf((ROWS, N), d) for d in ("bfloat16", "bfloat16", "float16", "float32")]
    sums = [core.psum((M, N)), core.psum((M, N)), core.psum((M, N), address=0)]
    kept = [core.sbuf((M, N)), core.sbuf((M, N), "bfloat16")]
    caller = np.zeros((M, N), np.float32)
    hbm = [core.hbm((M, N), "float32"), core.hbm(caller)]
    looked, refused = [], []
    every = slice(None)
    for what, a, *rest in steps:
        if what == "load":
            numbers = normal((ROWS, N), rest[0]).astype(operands[a].dtype.storage)
            core.dma_copy(dst=operands[a], src=core.hbm(numbers))
        elif what == "matmul":
            dst, columns, accumulate = rest
            other = 3 if a == 3 else (a + dst) % 3
            core.nc_matmul(
                dst=sums[dst].sliced(every, columns),
                stationary=operands[a].sliced(every, slice(M)),
                moving=operands[other].sliced(every, columns),
                accumulate=accumulate,
            )
        elif what == "to_operand":
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
        elif what == "mistake":
            given = MISTAKES[a], core, sums[a % 3], kept[0], hbm[0]
            refused.append(str(raises((NkiValidationError, TypeError), "", *given)))
        else:
            looked.append(core.value([*sums, *kept][a]))
    looked += [core.value(view) for view in (*operands, *sums, *kept, *hbm)]
    return [each.tobytes() for each in looked], refused, *left_by(core.notes, core.program)


MISTAKES = (
    lambda core, one, kept, hbm: core.tensor_copy(dst=kept, src=one.sliced(slice(2))),
    lambda core, one, kept, hbm: core.tensor_tensor(dst=kept, data1=one, data2=one, op="add"),
    lambda core, one, kept, hbm: core.tensor_copy(dst=hbm, src=one),
    lambda core, one, kept, hbm: core.tensor_copy(dst=kept, src=one, engine="tensor"),
    lambda core, one, kept, hbm: core.nc_matmul(dst=one, stationary=kept, moving=kept, shape=1),
)


def left_by(notes, program):
    """Return what is remembered of a run, its lines too."""
    said = [(kind, at, role, getattr(info, "name", info)) for kind, at, role, info in notes]
    instructions = [
        (i.name, i.engine, i.accesses, i.work, i.options, i.flops, i.label, i.line, i.loops)
        for i in program.instructions
    ]
    return said, instructions


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@settings(max_examples=150, deadline=None)
@given(steps=st.lists(step, min_size=4, max_size=40))
def test_a_random_program_leaves_the_same_bits_record_and_errors(rounding, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "cpus", lambda: 3)
        patch.setattr(products, "_WORTH_HELP", 1)
        patch.setattr(deferred, "_MOST_WORK", 8 * ROWS * M * N)
        patch.setattr(deferred, "_MOST_CALLS", 5)
        with products.one_blas_thread():
            found = [run_steps(steps, each, rounding) for each in (Deferred(), Eager())]
    assert found[0] == found[1]


# -- kernels give the same bits, put off or at once --------------------------------------------


def narrow(*shapes):
    return [normal(shape, seed).astype(BF16) for seed, shape in enumerate(shapes)]


KERNELS = {
    "blocked": (matmul.fully_blocked, narrow((1024, 256), (1024, 1024)), (1, 1, 4)),
    "gram": (matmul.blocked, narrow((512, 512))[:1] * 2, (1, 1)),
    "float32": (matmul.blocked, [normal((512, 128)), normal((512, 512), 1)], (1, 1)),
    "attention": (attention.fused_attention, narrow((64, 512), (64, 512), (512, 64)), ()),
    "convolution": (profiled.convolution, narrow((128, 20, 20), (128, 128, 3, 3), (128, 128)), ()),
    "scan": (
        selective_scan.tiled,
        [np.abs(normal(s, k)) for k, s in enumerate(
            ((1, 128, 1024), (1, 128, 1024), (128, 4), (1, 4, 1024), (1, 4, 1024))
        )], (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_leaves_the_same_bits_record_and_time(name, helpers, monkeypatch):
    kernel, arrays, more = KERNELS[name]
    late = nki.run(kernel, *arrays, *more)
    monkeypatch.setattr(deferred.Deferred, "__new__", lambda cls: Eager())
    at_once = nki.run(kernel, *arrays, *more)
    assert late.outputs.tobytes() == at_once.outputs.tobytes()
    for one, two, notes, others in zip(
        late.programs, at_once.programs, late.notes, at_once.notes, strict=True
    ):
        assert left_by(notes, one) == left_by(others, two)
    assert late.timeline.makespan_ns == at_once.timeline.makespan_ns
    assert list(map(str, late.advice)) == list(map(str, at_once.advice))


# -- what waits, and for how long -------------------------------------------------------------


def test_products_of_one_tile_are_computed_by_one_thread_in_their_order(monkeypatch):
    counts = []
    compute = products.Sum.compute

    def seen(found):
        if not found.is_done:
            counts.append(len(found.factors))
        compute(found)

    monkeypatch.setattr(products.Sum, "compute", seen)
    core = NeuronCore(executor=Deferred())
    ws, xs = operand(core, W), operand(core, X)
    dst, out = core.psum((16, 20)), core.sbuf((16, 20))
    for _ in range(5):
        core.nc_matmul(dst=dst, stationary=ws, moving=xs)
    core.tensor_copy(dst=out, src=dst)
    assert counts == []
    assert dst.buffer.pending is not None
    np.testing.assert_array_equal(core.value(out), 5 * W.T @ X)
    assert counts == [5]
    np.testing.assert_array_equal(core.value(dst), 5 * W.T @ X)
    assert dst.buffer.pending is None


def test_operands_may_be_overwritten_while_a_product_waits():
    core = NeuronCore(executor=Deferred())
    ws, xs, dst = operand(core, W), operand(core, X), core.psum((16, 20))
    core.nc_matmul(dst=dst, stationary=ws, moving=xs)
    core.memset(dst=ws, value=0.0)
    core.memset(dst=xs, value=1.0)
    assert dst.buffer.pending is not None
    np.testing.assert_array_equal(core.value(dst), W.T @ X)


@pytest.mark.parametrize("is_one_sum", [False, True])
def test_work_that_nobody_looks_at_is_bounded(monkeypatch, is_one_sum):
    monkeypatch.setattr(deferred, "_MOST_WORK", 4 * 64 * 16 * 20)
    core = NeuronCore(executor=Deferred())
    ws, xs = operand(core, W), operand(core, X)
    sums = []
    for _ in range(10):
        sums.append(sums[0] if is_one_sum and sums else core.psum((16, 20)))
        core.nc_matmul(dst=sums[-1], stationary=ws, moving=xs)
        waiting = {id(s): s.buffer.pending for s in sums if s.buffer.pending is not None}
        assert sum(len(each.factors) for each in waiting.values()) <= 4
    np.testing.assert_array_equal(core.value(sums[-1]), (10 if is_one_sum else 1) * W.T @ X)


def test_an_eager_core_puts_nothing_off(core):
    ws, xs = operand(core, W), operand(core, X)
    dst = core.psum((16, 20))
    core.nc_matmul(dst=dst, stationary=ws, moving=xs)
    assert dst.buffer.pending is None


def test_a_kernel_sees_finished_numbers_where_it_looks():
    seen = []

    @nki.jit
    def look(w, x):
        sums = nl.ndarray((16, 20), nl.float32, buffer=nl.psum)
        ws, xs = nl.load(w), nl.load(x)
        for _ in range(3):
            nisa.nc_matmul(dst=sums, stationary=ws, moving=xs)
            seen.append(np.asarray(sums))
        return stored(sums, nl.float32)

    got = nki.simulate(look)(W.astype(BF16), X.astype(BF16))
    for times, numbers in enumerate(seen, 1):
        np.testing.assert_array_equal(numbers, times * W.T @ X)
    np.testing.assert_array_equal(got, 3 * W.T @ X)


# -- helpers, threads, interrupts -------------------------------------------------------------


def test_the_bits_do_not_depend_on_the_number_of_cpus(monkeypatch):
    outputs = []
    kernel, arrays, more = KERNELS["blocked"]
    for cpus in (1, 2, 4):
        monkeypatch.setattr(products, "cpus", lambda cpus=cpus: cpus)
        outputs.append(nki.simulate(kernel)(*arrays, *more).tobytes())
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
    core = NeuronCore(executor=Deferred())
    ws, xs = operand(core, W), operand(core, X)
    dst, other = core.psum((16, 20)), core.psum((16, 20))
    core.nc_matmul(dst=other, stationary=ws, moving=xs)
    expected = core.value(other)
    core.nc_matmul(dst=dst, stationary=ws, moving=xs)

    def interrupt(found):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(products.Sum, "wait", interrupt)
        raises(KeyboardInterrupt, "", core.value, dst)
    raises(RuntimeError, r"interrupted while it computed.*run the kernel again", core.value, dst)
    np.testing.assert_array_equal(core.value(other), expected)


def test_an_error_inside_a_kernel_leaves_the_next_run_alone():

    @nki.jit
    def fails(w, x):
        sums = nl.ndarray((16, 20), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=nl.load(w), moving=nl.load(x))
        raise ZeroDivisionError

    raises(ZeroDivisionError, "", fails, W.astype(BF16), X.astype(BF16))
    got = nki.simulate(matmul.basic)(W.astype(BF16), X.astype(BF16))
    np.testing.assert_array_equal(got, (W.T @ X).astype(BF16))
