"""What ``nki.run`` leaves behind.  Judges: NumPy for values, ``neuroncore`` for times."""

import functools
import gzip
import json
import subprocess
import sys
import zipfile
import zlib

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import raises
from tests.texts import text_beside
from trainium_edu.neuroncore import run_io
from trainium_edu.neuroncore.recording import program_io
from trainium_edu.neuroncore.timing.measure import measure
from trainium_edu.nki.examples import selective_scan


@nki.jit
def halves(x, y):
    first = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray(y.shape, y.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(4):
        rows = nl.ds(k * 128, 128)
        nl.store(first[rows], nl.multiply(nl.load(x[rows]), 0.5))
        nl.store(second[rows], nl.load(y[rows]))
    return {"first": first, "more": (second, 7)}


X = np.arange(512 * 64, dtype=np.float32).reshape(512, 64)
Y = X.astype(ml_dtypes.bfloat16)


@pytest.fixture(scope="module")
def run():
    return nki.run(halves, X, Y)


def test_a_run_holds_outputs_program_time_and_the_kernels_names_and_lines(run):
    assert np.array_equal(run.outputs["first"], X / 2)
    assert np.array_equal(run.outputs["more"][0], Y)
    assert run.timeline.makespan_ns == measure(run.programs[0]).makespan_ns
    assert run.placement is run.timeline.placement
    low, high = run.band.low_ns, run.band.high_ns
    assert low <= run.timeline.makespan_ns <= high
    assert repr(run).startswith("Run('halves', 20 instructions, ")
    assert "halves" in str(run)
    why = run.why()
    assert sum(piece.end_ns - piece.start_ns for piece in why.pieces) == run.timeline.makespan_ns
    program = run.programs[0]
    assert [a.name for a in program.allocations[:2]] == ["x", "y"]
    assert {(i.line.function, i.line.file) for i in program.instructions} == {("halves", __file__)}


def test_buffers_change_the_time_and_not_the_values(run):
    one = run.with_buffers(1)
    assert one.outputs is run.outputs
    assert one.timeline.makespan_ns > run.timeline.makespan_ns
    assert one.timeline.makespan_ns == nki.run(halves, X, Y, buffers=1).timeline.makespan_ns
    raises((TypeError, ValueError), "buffers", run.with_buffers, 0)


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
    assert (second.tobytes(), seven) == (run.outputs["more"][0].tobytes(), 7)
    assert (repr(loaded), str(loaded)) == (repr(run), str(run))
    assert [str(w) for w in loaded.advice] == [str(w) for w in run.advice]
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
        ours, theirs = ([i.work for i in one.program.instructions] for one in (run, plain))
        assert ours == theirs
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
    raises(ValueError, r"b\.run cannot be read", nki.load, tmp_path / "b.run")


# -- sizes, and a kill while it is written ----------------------------------------------------


def test_a_sentence_repeats_no_bytes_of_a_damaged_file(run, tmp_path):
    """Judge: Python's zipfile and gzip, whose messages do."""
    path = tmp_path / "a.run"
    run_io.save(run, path)
    path.write_bytes(path.read_bytes().replace(b"run.json", b"\xff\x1b[2J\xe2\x80\xae", 1))
    raises(zipfile.BadZipFile, r"b'", zipfile.ZipFile(path).read, "run.json")
    refused = raises(ValueError, "cannot be read", nki.load, path)
    with pytest.raises(ValueError, match="cannot be read") as foreign:
        program_io.from_bytes(b"\xff\x1b" * 20 + bytes(4), "a program")
    for said in (str(refused), str(foreign.value)):
        assert said.isprintable()
        assert "b'" not in said


def peak_bytes(code, *args):
    """Run code in a process of its own; return what it printed and by how much its memory grew."""
    measured = (
        "import resource, sys\nimport trainium_edu.nki as nki\n"
        "from trainium_edu import neuroncore\n"
        "from trainium_edu.neuroncore import run\n"
        "neuroncore.load\nnow = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"before = now()\n{code}\nprint(now() - before)"
    )
    done = subprocess.run([sys.executable, "-c", measured, *map(str, args)], check=True, text=True,
                          capture_output=True, timeout=300)  # fmt: skip
    *said, grown = done.stdout.splitlines()
    return "\n".join(said), int(grown) * (1 if sys.platform == "darwin" else 1024)


LOADS = """
try: {}.load(sys.argv[1])
except ValueError as problem: print(problem)
"""


def zeros(mib) -> bytes:
    """Return a deflated stream of so many MiB of zeros: one block, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * mib + packer.flush()


def bomb(path, name, mib):
    """Write a run one entry of which unpacks to so many MiB of zeros."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("run.json", json.dumps({"what": "trainium_edu run", "version": 1,
                                              "dtypes": ["uint8"], "programs": 1}))  # fmt: skip
        file.writestr(name, zeros(mib))
        entry = file.getinfo(name)  # what the table at the end of the file will say
        entry.compress_type, entry.file_size = zipfile.ZIP_DEFLATED, mib << 20


@pytest.mark.skipif(sys.platform == "win32", reason="there is no module resource")
@pytest.mark.parametrize("name", ["run.json.more", "output_0.npy", "program_0.json.gz"])
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_unread(tmp_path, name):
    """Judge: what the operating system says of the memory used."""
    path = tmp_path / "bomb.run"
    bomb(path, name, 2048)
    assert path.stat().st_size < 15e6
    said, grown = peak_bytes(LOADS.format("nki"), path)
    assert "bomb.run cannot be read as a saved run" in said
    assert "2048 MiB" in said
    assert "1024" in said  # the limit
    assert grown < 100e6


@pytest.mark.skipif(sys.platform == "win32", reason="there is no module resource")
@pytest.mark.parametrize("states", ["its size", "another size"])
def test_a_program_that_unpacks_to_gigabytes_is_refused_unread(tmp_path, states):
    path = tmp_path / "bomb.json.gz"
    size = (2 << 30 if states == "its size" else 1000).to_bytes(4, "little")
    path.write_bytes(b"\x1f\x8b\x08" + bytes(7) + zeros(2048) + bytes(4) + size)
    assert path.stat().st_size < 15e6
    said, grown = peak_bytes(LOADS.format("neuroncore"), path)
    assert "bomb.json.gz cannot be read as a saved program" in said
    assert grown < 100e6


def test_a_run_too_large_to_be_read_again_is_not_saved(run, tmp_path, monkeypatch):
    run.save(tmp_path / "a.run")
    kept = (tmp_path / "a.run").read_bytes()
    monkeypatch.setattr(run_io, "_MAX_BYTES", 10_000)
    raises(ValueError, r"unpacks to .* MiB .* at most", run.save, tmp_path / "a.run")
    assert (tmp_path / "a.run").read_bytes() == kept
    monkeypatch.setattr(program_io, "_MAX_BYTES", 100)
    with pytest.raises(ValueError, match=r"MiB as JSON, and at most"):
        program_io.save(run.program, tmp_path / "a.json.gz")


@pytest.mark.parametrize("entry", [json.dumps([[[9]] * 3]), "[" * 100_000, "[1e400]", "{}"])
def test_an_output_whose_shape_is_foreign_gets_one_sentence(run, tmp_path, entry):
    run.save(tmp_path / "a.run")
    with (
        zipfile.ZipFile(tmp_path / "a.run") as old,
        zipfile.ZipFile(tmp_path / "b.run", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, entry if name == "output_0.json" else old.read(name))
    caught = raises(ValueError, r"b\.run cannot be read", nki.load, tmp_path / "b.run")
    assert "\n" not in str(caught)


KILLED = text_beside(__file__, "killed.py.txt")


@pytest.mark.parametrize("name", ["kept.run", "kept.json.gz"])
def test_a_kill_while_saving_leaves_a_file_that_loads(run, tmp_path, name):
    """The process ends itself at the first, second, ... time it opens or renames that file."""
    load, save = (nki.load, run.save) if name == "kept.run" else (
        program_io.load, functools.partial(program_io.save, run.program))  # fmt: skip
    run.save(tmp_path / "given.run")
    save(tmp_path / name)
    old = repr(load(tmp_path / name))
    killed = 0
    for stage in range(1, 9):
        run_once = [sys.executable, "-c", KILLED, tmp_path / "given.run", name, str(stage)]
        code = subprocess.run(run_once, timeout=120).returncode
        assert repr(load(tmp_path / name)) == old
        if code == 0:
            break
        assert code == 9
        killed += 1
    assert killed >= 2  # it was opened, and renamed


def test_a_new_session_loads_a_run_first(run, tmp_path):
    run.save(tmp_path / "a.run")
    code = "import sys, trainium_edu.nki as nki; print(nki.load(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.run"], text=True,
                          capture_output=True, timeout=120)  # fmt: skip
    assert done.stdout == f"{run}\n", done.stderr


def test_a_missing_file_is_named(tmp_path):
    raises(FileNotFoundError, r"nothing\.run", nki.load, tmp_path / "nothing.run")
