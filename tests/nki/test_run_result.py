"""What ``nki.run`` leaves behind.  Judges: NumPy for values, ``neuroncore`` for times."""

import gzip

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.neuroncore.timed import measure
from trainium_edu.nki.examples import selective_scan


@nki.jit
def halves(x, y):
    first = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray(y.shape, y.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(4):
        rows = nl.ds(k * 128, 128)
        tile = nl.load(x[rows])
        nl.store(first[rows], nl.multiply(tile, 0.5))
        nl.store(second[rows], nl.load(y[rows]))
    return {"first": first, "more": (second, 7)}


X = np.arange(512 * 64, dtype=np.float32).reshape(512, 64)
Y = X.astype(ml_dtypes.bfloat16)


@pytest.fixture(scope="module")
def run():
    return nki.run(halves, X, Y)


def test_a_run_holds_outputs_program_and_time(run):
    assert np.array_equal(run.outputs["first"], X / 2)
    assert np.array_equal(run.outputs["more"][0], Y)
    assert run.timeline.makespan_ns == measure(run.programs[0]).makespan_ns
    assert run.placement is run.timeline.placement
    low, high = run.timeline.band.low_ns, run.timeline.band.high_ns
    assert low <= run.timeline.makespan_ns <= high
    assert repr(run).startswith("Run('halves', 20 instructions, ")
    assert "halves" in str(run)


def test_the_reasons_add_up_to_the_time(run):
    why = run.why()
    assert sum(piece.end_ns - piece.start_ns for piece in why.pieces) == run.timeline.makespan_ns


def test_arguments_keep_the_names_of_the_kernel(run):
    assert [a.name for a in run.programs[0].allocations[:2]] == ["x", "y"]


def test_lines_are_the_kernels_own(run):
    lines = {i.line.function for i in run.programs[0].instructions}
    assert lines == {"halves"}
    assert {i.line.file for i in run.programs[0].instructions} == {__file__}


def test_buffers_change_the_time_and_not_the_values(run):
    one = run.with_buffers(1)
    assert one.outputs is run.outputs
    assert one.timeline.makespan_ns > run.timeline.makespan_ns
    assert one.timeline.makespan_ns == nki.run(halves, X, Y, buffers=1).timeline.makespan_ns
    with pytest.raises((TypeError, ValueError), match="buffers"):
        run.with_buffers(0)


def test_without_values_there_is_time_and_no_output(run):
    timed = nki.run(halves, X, Y, values=False)
    assert timed.outputs is None
    assert timed.timeline.makespan_ns == run.timeline.makespan_ns


def test_passes_can_be_left_out():
    given = [
        np.ones(s, np.float32) for s in ((1, 128, 512),) * 2 + ((128, 4),) + ((1, 4, 512),) * 2
    ]
    plain = nki.run(selective_scan.hoisted, *given, values=False, optimise=False)
    passed = nki.run(selective_scan.hoisted, *given, values=False)
    assert len(passed.timeline.program) < len(plain.timeline.program) == len(plain.program)


def test_a_run_is_saved_and_loaded_bit_for_bit(run, tmp_path):
    run.save(tmp_path / "a.run")
    loaded = nki.load(tmp_path / "a.run")
    assert np.array_equal(loaded.outputs["first"], run.outputs["first"])
    second, seven = loaded.outputs["more"]
    assert second.dtype == ml_dtypes.bfloat16
    assert second.tobytes() == run.outputs["more"][0].tobytes()
    assert seven == 7
    assert repr(loaded) == repr(run)
    assert str(loaded) == str(run)
    assert [str(w) for w in loaded.warnings] == [str(w) for w in run.warnings]
    loaded.save(tmp_path / "b.run")
    assert (tmp_path / "a.run").read_bytes() == (tmp_path / "b.run").read_bytes()


def test_a_run_without_values_and_with_options_is_saved_too(tmp_path):
    run = nki.run(halves, X, Y, values=False, buffers=2, optimise=False)
    run.save(tmp_path / "a.run")
    loaded = nki.load(tmp_path / "a.run")
    assert (loaded.outputs, loaded.buffers, loaded.optimise) == (None, 2, False)
    assert loaded.timeline.makespan_ns == run.timeline.makespan_ns


def test_operators_and_numbers_of_numpy_are_recorded_as_plain_ones(tmp_path):
    def kernel(x, add, top, two):
        tile, most = nl.load(x), nl.ndarray((x.shape[0], 1), nl.float32)
        nisa.tensor_scalar(tile, tile, add, two)
        nisa.tensor_reduce(most, top, tile, axis=1)
        out = nl.ndarray(most.shape, most.dtype, buffer=nl.shared_hbm)
        nl.store(out, most)
        return out

    plain = nki.run(kernel, X[:64], nl.add, nl.maximum, 2.0)
    for add, top, two in ((np.add, nl.max, np.float32(2)), (np.add, np.max, np.int64(2))):
        run = nki.run(kernel, X[:64], add, top, two)
        np.testing.assert_array_equal(run.outputs, plain.outputs)
        assert [i.work for i in run.program.instructions] == [
            i.work for i in plain.program.instructions
        ]
        run.save(tmp_path / "a.run")
        assert repr(nki.load(tmp_path / "a.run")) == repr(run)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"not a run at all",
        lambda data: gzip.compress(b"{}"), lambda data: data[:-40] + bytes(40),
    ],
)  # fmt: skip
def test_a_damaged_file_gets_one_sentence(run, tmp_path, damage):
    run.save(tmp_path / "a.run")
    data = (tmp_path / "a.run").read_bytes()
    (tmp_path / "b.run").write_bytes(damage(data))
    with pytest.raises(ValueError, match=r"b\.run cannot be read"):
        nki.load(tmp_path / "b.run")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.run"):
        nki.load(tmp_path / "nothing.run")
