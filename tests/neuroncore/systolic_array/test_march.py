"""The cycle-level array: judged by its register-level twin, bit for bit, at every cycle."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trainium_edu.neuroncore.systolic_array as sa
from tests.for_each import raises
from tests.neuroncore.systolic_array.elements import simulate_elements
from trainium_edu.neuroncore.systolic_array.operands import check_operands

FORMATS = ("bf16", "fp16", "tf32", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "fp32")


@st.composite
def runs(draw):
    """Draw an array, a product, and how it goes through."""
    side = st.integers(1, 5)
    array = sa.SystolicArray(draw(side), draw(side), load_speed=draw(st.integers(1, 4)),
                          background_load=draw(st.booleans()),
                          min_issue_cycles=draw(st.sampled_from([1, 1, 4, 9])))  # fmt: skip
    k, m, n = (draw(st.integers(1, 11)) for _ in range(3))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    w, x = numbers.standard_normal((k, m)), numbers.standard_normal((k, n))
    fmt = draw(st.sampled_from(FORMATS))
    passes = check_operands(w, x, fmt).passes
    reuse, moving_max = draw(st.booleans()), draw(st.integers(1, 12))
    plan = sa.plan_gemm(k, m, n, array=array, passes=passes, reuse=reuse, moving_max=moving_max)
    return array, w, x, fmt, plan


def bits(x):
    return np.asarray(x, np.float32).view(np.uint32)


def plane(pes, look):
    """Return one register of all PEs: (values, whether there is one)."""
    seen = [[look(pe) for pe in row] for row in pes]
    valid = np.array([[v is not None for v in row] for row in seen])
    return np.array([[0 if v is None else v for v in row] for row in seen], np.float32), valid


def assert_same_registers(recorded, history):
    """Compare every register of every PE at every cycle."""
    assert recorded.cycles == len(history)
    first = [p.n0 for p in recorded.schedule.passes]
    for t, pes in enumerate(history):
        now = recorded.state(t)
        for values, valid, look in (
            (now.weight, now.weight_valid, lambda pe: pe.weight),
            (now.waiting, now.waiting_valid, lambda pe: pe.waiting),
            (
                now.moving,
                now.moving_valid,
                lambda pe: pe.vector.value if pe.vector and pe.vector.holds_data else None,
            ),
            (now.partial_sum, now.sum_valid, lambda pe: pe.sum.value if pe.sum else None),
            (
                np.where(now.sum_valid, now.pass_index, 0).astype(np.float32),
                now.sum_valid,
                lambda pe: pe.sum.pass_index if pe.sum else None,
            ),
            (
                np.where(now.sum_valid, now.vector, 0).astype(np.float32),
                now.sum_valid,
                lambda pe: first[pe.sum.pass_index] + pe.sum.n if pe.sum else None,
            ),
        ):
            twin, there = plane(pes, look)
            assert np.array_equal(valid, there), f"cycle {t}"
            assert np.array_equal(bits(values), bits(twin)), f"cycle {t}"


@settings(max_examples=40)
@given(runs())
def test_every_register_at_every_cycle_equals_the_twin(case):
    array, w, x, fmt, plan = case
    recorded = sa.run(w, x, array=array, fmt=fmt, plan=plan, record=True)
    result, history = simulate_elements(w, x, plan, array=array, fmt=fmt)
    np.testing.assert_array_equal(bits(recorded.result), bits(result))
    assert_same_registers(recorded, history)
    multiplied = [int(recorded.state(t).multiplied.sum()) for t in range(recorded.cycles)]
    assert (recorded.working.tolist(), sum(multiplied)) == (multiplied, recorded.macs)


@given(runs())
def test_results_lie_within_the_reordering_bound_of_the_functional_model(case):
    array, w, x, fmt, plan = case
    got = sa.run(w, x, array=array, fmt=fmt, plan=plan).result
    assert (np.abs(got - sa.matmul(w, x, fmt=fmt)) <= sa.reordering_bound(w, x, fmt=fmt)).all()


@given(st.lists(st.integers(0, 7), min_size=3, max_size=3), st.integers(1, 6), st.integers(0, 99))
def test_a_wrong_skew_goes_wrong_in_the_same_way_as_the_twin(delays, n, seed):
    array, delays = sa.SystolicArray(4, 3, load_speed=1), (0, *delays)
    draw = np.random.default_rng(seed)
    w, x = draw.standard_normal((4, 3)), draw.standard_normal((4, n))
    plan = (sa.Pass(0, 4, 0, 3, 0, n),)
    recorded = sa.run(w, x, array=array, fmt="bf16", skew=delays, record=True)
    result, history = simulate_elements(w, x, plan, array=array, fmt="bf16", skew=delays)
    np.testing.assert_array_equal(bits(recorded.result), bits(result))
    for t, pes in enumerate(history):
        now = recorded.state(t)
        for (k, m), valid in np.ndenumerate(now.sum_valid):
            vector = pes[k][m].vector
            assert now.moving_valid[k, m] == (vector is not None)
            assert vector is None or bits(now.moving[k, m]) == bits(vector.value)
            assert not valid or bits(now.partial_sum[k, m]) == bits(pes[k][m].sum.value)


def test_the_array_adds_row_by_row_from_the_top():
    """The order of additions, written out: a float32 loop over K."""
    draw = np.random.default_rng(5)
    w, x = (draw.standard_normal((128, n)).astype(np.float32) for n in (128, 512))
    w, x = (check_operands(w, x, "bf16").stationary, check_operands(w, x, "bf16").moving)
    total = np.zeros((128, 512), np.float32)
    for k in range(128):
        total += w[k][:, None] * x[k][None]
    np.testing.assert_array_equal(bits(sa.run(w, x, fmt="bf16").result), bits(total))


def test_psum_adds_tile_after_tile():
    draw = np.random.default_rng(6)
    w, x = draw.standard_normal((300, 20)), draw.standard_normal((300, 30))
    parts = [sa.run(w[i : i + 128], x[i : i + 128], fmt="bf16").result for i in (0, 128, 256)]
    expected = (parts[0] + parts[1]) + parts[2]
    np.testing.assert_array_equal(bits(sa.run(w, x, fmt="bf16").result), bits(expected))


@pytest.mark.compiled  # threads are of compiled loops only
def test_same_bits_with_any_number_of_threads_recorded_or_not(monkeypatch):
    monkeypatch.setattr(sa.march, "PARALLEL_FROM_PE_CYCLES", 0)
    draw = np.random.default_rng(7)
    w, x = draw.standard_normal((150, 140)), draw.standard_normal((150, 90))
    first = sa.run(w, x, fmt="fp16", threads=1).result
    for threads in (None, 2, 3):
        again = sa.run(w, x, fmt="fp16", threads=threads).result
        np.testing.assert_array_equal(bits(again), bits(first))
    np.testing.assert_array_equal(bits(sa.run(w, x, fmt="fp16", record=True).result), bits(first))


def test_compiled_loops_equal_their_python_source():
    """Judge: the same loops, uncompiled."""
    draw = np.random.default_rng(8)
    array = sa.SystolicArray(3, 4, load_speed=2)
    w, x = draw.standard_normal((5, 6)), draw.standard_normal((5, 7))
    compiled = sa.run(w, x, array=array, fmt="bf16", record=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("march", "march_recorded"):
            loop = getattr(sa._loops, name)
            patch.setattr(sa._loops, name, getattr(loop, "py_func", loop))
        patch.setattr(sa._loops, "uintp", int)
        plain = sa.run(w, x, array=array, fmt="bf16", record=True)
        straight = sa.run(w, x, array=array, fmt="bf16")
    np.testing.assert_array_equal(bits(compiled.kept), bits(plain.kept))
    np.testing.assert_array_equal(bits(compiled.result), bits(straight.result))


def test_a_long_run_may_be_interrupted_between_calls(monkeypatch):
    """Cut into calls of a few cycles, the result is the same."""
    draw = np.random.default_rng(9)
    w, x = draw.standard_normal((9, 7)), draw.standard_normal((9, 30))
    array = sa.SystolicArray(4, 4)
    expected = sa.run(w, x, array=array, fmt="bf16", record=True)
    monkeypatch.setattr(sa.march, "PE_CYCLES_PER_CALL", 48)
    again = sa.run(w, x, array=array, fmt="bf16", record=True)
    np.testing.assert_array_equal(bits(again.kept), bits(expected.kept))
    found = sa.run(w, x, array=array, fmt="bf16").result
    np.testing.assert_array_equal(bits(found), bits(expected.result))


def test_looking_into_an_unrecorded_run_says_what_to_do():
    raises(ValueError, "record=True", sa.run([[1.0]], [[1.0]], fmt="bf16").state, 0)


def test_no_such_cycle_or_element():
    done = sa.run([[1.0]], [[1.0]], fmt="bf16", array=sa.SystolicArray(2, 2), record=True)
    raises(IndexError, "cycles 0 to", done.state, done.cycles)


def test_recording_too_much_is_refused_before_memory_is_taken():
    many = np.ones((128, 50_000), ml_dtypes.bfloat16)
    raises(ValueError, "MiB", sa.run, many[:, :128], many, record=True)


def test_repr_tells_the_run_in_one_line():
    done = sa.run(np.ones((4, 4)), np.ones((4, 8)), fmt="bf16", array=sa.SystolicArray(4, 4))
    assert repr(done) == "ArrayRun(bf16 [4, 4] x [4, 8] on 4 x 4 PEs, 15 cycles, utilisation 53.3%)"
    assert done.cycles == sa.gemm_cycles(4, 4, 8, done.array)


def test_a_record_is_never_written_over_while_somebody_holds_it():
    """Space of a forgotten record is used again; that of a living one (or of a view) is not."""
    draw = np.random.default_rng(10)
    w, x = draw.standard_normal((8, 8)), draw.standard_normal((8, 20))
    array = sa.SystolicArray(8, 8)
    first = sa.run(w, x, array=array, fmt="bf16", record=True)
    before = first.kept.copy()
    second = sa.run(-w, x, array=array, fmt="bf16", record=True)
    assert not np.shares_memory(first.kept, second.kept)
    view = second.kept[5:9]
    held = view.copy()
    del second
    third = sa.run(2 * w, x, array=array, fmt="bf16", record=True)
    np.testing.assert_array_equal(bits(first.kept), bits(before))
    np.testing.assert_array_equal(bits(view), bits(held))
    again = third.kept.__array_interface__["data"]
    del third
    fourth = sa.run(3 * w, x, array=array, fmt="bf16", record=True)
    assert fourth.kept.__array_interface__["data"] == again
