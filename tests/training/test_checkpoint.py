"""Judges: the run that was never stopped, bit for bit; the safetensors library for the format."""

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save

from tests.for_each import raises
from tests.texts import rows_beside, text_beside
from trainium_edu.training import checkpoint, nn
from trainium_edu.training.broken_runs import RankFailed, fail
from trainium_edu.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from trainium_edu.training.data import digits
from trainium_edu.training.tasks import Task
from trainium_edu.training.trainer import Diverged, Job, Trainer, fit

ROWS = rows_beside(__file__, "checkpoint.toml")

BF16 = ml_dtypes.bfloat16


def a_state(step=20, **more):
    """Return a state with an array of each kind."""
    random = np.random.default_rng(abs(step))
    return {
        "job": {"task": "digits-mlp", "seed": 0}, "number": step,
        "weights": {"0.weight": random.standard_normal((3, 5)).astype(BF16)},
        "optimizer": {"steps": step, "states": [
            {"mean": random.standard_normal(4, np.float32), "none": np.zeros((0, 2), np.float32)},
            {},
        ]},
        "loader": {"epoch": 2, "at": np.int64(7), "order": np.arange(6)},
        "mask": np.array(True),
    } | more  # fmt: skip


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(b) in (int, float, str, bool, type(None)) and a == b


# -- the file -----------------------------------------------------------------------------------


def test_a_checkpoint_gives_back_every_bit(tmp_path):
    path = save_checkpoint(tmp_path / "new" / "folder", a_state())
    found = load_checkpoint(tmp_path / "new" / "folder")
    assert same(a_state(), found.state)
    assert (found.step, found.job["task"], found.path) == (20, "digits-mlp", path)
    assert set(load_file(path)) == {
        "weights/0.weight", "optimizer/states/0/mean", "optimizer/states/0/none", "loader/order",
        "mask",
    }  # fmt: skip
    found.state["weights"]["0.weight"][:] = 0  # arrays can be written to
    assert same(a_state(), load_checkpoint(path).state)


def test_bf16_takes_two_bytes_per_number(tmp_path):
    sizes = [
        save_checkpoint(tmp_path / name, {"job": {}, "number": 1, "w": np.ones(100_000, dtype)})
        for name, dtype in (("a", BF16), ("b", np.float32))
    ]
    a, b = (path.stat().st_size for path in sizes)
    assert 200_000 < a < 201_000
    assert b - a == 200_000


@pytest.mark.judge
def test_the_safetensors_library_reads_it(tmp_path):
    torch = pytest.importorskip("torch")
    path = save_checkpoint(tmp_path, a_state())
    ours = load_file(path)
    with safe_open(path, "pt") as file:
        assert set(file.keys()) == set(ours)
        for name in file.keys():  # noqa: SIM118  not a mapping
            theirs = file.get_tensor(name)
            assert theirs.dtype == torch.bfloat16 or theirs.numpy().dtype == ours[name].dtype
            assert np.array_equal(theirs.float().numpy(), ours[name].astype(np.float32))


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    path = save_checkpoint(tmp_path, a_state())
    data = path.read_bytes()
    for place in [*range(0, len(data), 5), *range(80)]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged|cut, or not a trainium_edu checkpoint"):
            load_checkpoint(path)


def test_every_cut_is_noticed(tmp_path):
    path = save_checkpoint(tmp_path, a_state())
    data = path.read_bytes()
    for length in [*range(0, len(data), 11), len(data) - 1]:
        path.write_bytes(data[:length])
        raises(CheckpointError, r"is cut", load_checkpoint, path)
    path.write_bytes(data + b"more")
    raises(CheckpointError, r"cut or damaged: its checksum differs", load_checkpoint, path)


def test_the_one_before_a_damaged_one_is_used_and_a_warning_says_so(tmp_path):
    for step in (10, 20, 30):
        path = save_checkpoint(tmp_path, a_state(step))
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\xff")
    (tmp_path / "step-00000020.safetensors").write_bytes(data[:50])
    told = r"step-00000030.*checksum differs; step-00000020.* is cut.*; step-00000010"
    with pytest.warns(checkpoint.CheckpointDamaged, match=told):
        assert load_checkpoint(tmp_path).step == 10
    (tmp_path / "step-00000010.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* is whole: .*to begin anew"):
        load_checkpoint(tmp_path)


LIES = ROWS["lies"] | {"no state": {"state": None}}


def _lying(about, arrays=None, change=lambda header: header):
    """Return a file whose sum is right."""
    about = {"sum": "0" * 64, "version": checkpoint.VERSION} | about
    raw = save(
        {"w": np.ones(3)} if arrays is None else arrays, {checkpoint.FORMAT: json.dumps(about)}
    )
    length = int.from_bytes(raw[:8], "little")
    header = json.dumps(change(json.loads(raw[8 : 8 + length]))).encode()
    raw = len(header).to_bytes(8, "little") + header + raw[8 + length :]
    return raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode(), 1)


def _changed(name, value):
    def change(header):
        header["w"][name] = value
        return header

    return change


GOOD = {"state": {"number": 30, "job": {}, "w": {"__array__": "w"}}}
LYING = {name: _lying(about) for name, about in LIES.items()} | {
    "dtype of FP8": _lying(GOOD, change=_changed("dtype", "F8_E4M3")),
    "unknown dtype": _lying(GOOD, change=_changed("dtype", "F128")),
    "larger shape": _lying(GOOD, change=_changed("shape", [2**40, 2**40])),
    "negative shape": _lying(GOOD, change=_changed("shape", [-3])),
    "offsets turned round": _lying(GOOD, change=_changed("data_offsets", [24, 0])),
    "offsets beyond the end": _lying(GOOD, change=_changed("data_offsets", [0, 240])),
    "array as a number": _lying(GOOD, change=lambda header: header | {"w": 1}),
    "header as a list": len(b"[1]").to_bytes(8, "little") + b"[1]",
    "deep header": (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "length beyond all": b"\xff" * 16,
}


@pytest.mark.parametrize("lie", LYING)
def test_right_sums_with_a_lying_header_fall_back_to_the_one_before(tmp_path, lie):
    """The format's README names each part of a header; safetensors itself refuses these too."""
    save_checkpoint(tmp_path, a_state(20))
    path = tmp_path / "step-00000030.safetensors"
    path.write_bytes(_lying(GOOD))
    assert load_checkpoint(tmp_path).step == 30  # what is changed below is what is refused
    path.write_bytes(LYING[lie])
    with pytest.warns(
        checkpoint.CheckpointDamaged, match=r"step-00000030.* step-00000020.* is used instead"
    ):
        assert load_checkpoint(tmp_path).step == 20
    raises(CheckpointError, r"step-00000030.* cannot be used", load_checkpoint, path)


def test_the_newest_stay_and_a_damaged_newer_one_pushes_no_good_one_out(tmp_path):
    for step in (10, 20, 30, 40):
        save_checkpoint(tmp_path, a_state(step), keep=2)
    names = ["step-00000030.safetensors", "step-00000040.safetensors"]
    assert sorted(os.listdir(tmp_path)) == names
    (tmp_path / names[1]).write_bytes(b"")
    save_checkpoint(tmp_path, a_state(35), keep=1)
    with pytest.warns(checkpoint.CheckpointDamaged):
        assert load_checkpoint(tmp_path).step == 35


def test_another_format_or_version_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "VERSION", 3)
    path = save_checkpoint(tmp_path, a_state())
    monkeypatch.undo()
    raises(CheckpointError, r"version 3 of the format.* reads 2", load_checkpoint, tmp_path)
    np.savez(tmp_path / "weights.npz", a=np.ones(3))
    with pytest.raises(CheckpointError, match=r"weights.npz cannot be used: .*"):
        load_checkpoint(tmp_path / "weights.npz")
    raises(CheckpointError, r"there is no checkpoint in", load_checkpoint, tmp_path / "nowhere")
    assert path.exists()


# -- what cannot be written -----------------------------------------------------------------------


def test_a_full_disk_loses_nothing(tmp_path):
    save_checkpoint(tmp_path, a_state(10))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(CheckpointError, match=r"disk is full or the quota.*older.*untouched"):
            save_checkpoint(tmp_path, a_state(20, big=np.zeros(100_000, np.float32)), keep=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == ["step-00000010.safetensors"]
    assert load_checkpoint(tmp_path).step == 10


def test_a_folder_that_cannot_be_written_to_says_so_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file/in is not written: .*directory.*another"):
        checkpoint.Checkpoints(tmp_path / "file" / "in")


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_is_never_written(tmp_path, dtype, value):
    save_checkpoint(tmp_path, a_state(10))
    with pytest.raises(CheckpointError, match=r"momentum/3 holds NaN or infinity after 20 steps"):
        save_checkpoint(tmp_path, a_state(momentum={"3": np.array([0, value], dtype)}))
    assert os.listdir(tmp_path) == ["step-00000010.safetensors"]


@pytest.mark.parametrize(
    ("more", "told"),
    [({"x": object()}, "x is <object"), ({"x": float("nan")}, "x is nan"), ({3: 1}, "3 names no"),
     ({"x": np.zeros(2, complex)}, "x is complex128"), ({"number": -1}, "number is -1"),
     ({"x": [{"y": b""}]}, "x/0/y is b''")],
)  # fmt: skip
def test_what_no_state_can_hold(tmp_path, more, told):
    raises(ValueError, told, save_checkpoint, tmp_path, a_state() | more)
    raises(CheckpointError, r"no 'job'", save_checkpoint, tmp_path, {"number": 1})


# -- runs -----------------------------------------------------------------------------------------

SMALL = Job(ranks=2, batch=12, lr=0.05)  # seven steps an epoch: the orders of several are met


def _net():
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 10))


def _samples():
    found = digits()
    return (found.train_images[:160], found.train_labels[:160],
            found.test_images[:50], found.test_labels[:50])  # fmt: skip


TINY = Task("tiny", _net, _samples)


def a_run(job, steps, **options):
    return fit(Trainer(job, task=TINY), steps, **options)


KINDS = ROWS["kinds"]


@pytest.mark.parametrize("kind", KINDS)
def test_ten_steps_and_ten_resumed_equal_twenty_bit_for_bit(tmp_path, kind):
    job, kept = replace(SMALL, **KINDS[kind]), checkpoint.Checkpoints(tmp_path, every=4)
    whole = a_run(job, 20, evaluate_every=10)
    first = a_run(job, 10, evaluate_every=10, checkpoints=kept)
    resumed = a_run(job, 20, evaluate_every=10, checkpoints=kept)
    assert [step.number for step in resumed.steps] == list(range(10, 20))
    for ours, theirs in zip(whole.steps, first.steps + resumed.steps, strict=True):
        assert ours.loss_of_rank.tobytes() == theirs.loss_of_rank.tobytes()
    assert whole.accuracy == first.accuracy + resumed.accuracy
    assert same(load_checkpoint(tmp_path).state, resumed.trainer.state())
    assert same(load_checkpoint(tmp_path).state, whole.trainer.state())
    assert sorted(os.listdir(tmp_path)) == [f"step-{n:08d}.safetensors" for n in (12, 16, 20)]
    assert not a_run(job, 20, checkpoints=kept).steps  # nothing is left to do


def test_another_number_of_ranks_goes_on_with_equal_state_and_it_is_said(tmp_path):
    before = a_run(SMALL, 2, checkpoints=tmp_path).trainer.state()
    for ranks, batch in ((4, 6), (1, 24)):
        other = replace(SMALL, ranks=ranks, batch=batch, overlap=False)
        with pytest.warns(UserWarning, match=rf"from step 2 .*ranks 2 -> {ranks}, batch 12"):
            after = a_run(other, 2, checkpoints=tmp_path)
        assert not after.steps
        assert same(before | {"job": 0}, after.trainer.state() | {"job": 0})
    assert np.isfinite(a_run(other, 1).loss).all()


@pytest.mark.parametrize(("field", "value"), ROWS["another"])
def test_a_checkpoint_of_another_job_is_refused_by_the_field_that_differs(tmp_path, field, value):
    save_checkpoint(tmp_path, a_state() | {"job": asdict(SMALL)})
    with pytest.raises(CheckpointError, match=rf"another job: its {field} is .* here it is"):
        checkpoint.Checkpoints(tmp_path).newest(replace(SMALL, **{field: value}))
    assert checkpoint.Checkpoints(tmp_path).newest(SMALL).step == 20


# -- what goes wrong in the middle ----------------------------------------------------------------


def test_a_run_whose_rank_failed_goes_on_from_its_checkpoint(tmp_path):
    whole, kept = a_run(SMALL, 6), checkpoint.Checkpoints(tmp_path, every=2)
    trainer = Trainer(SMALL, task=TINY)
    fail(trainer, 1, at_step=5)
    told = r"rank 1 of 2 failed in step 5, before all_reduce; .*newest checkpoint"
    problem = raises(RankFailed, told, fit, trainer, 6, checkpoints=kept)
    assert problem.run.trainer.number == 5  # the step is undone
    assert same(trainer.state(), a_run(SMALL, 5).trainer.state())
    again = a_run(SMALL, 6, checkpoints=kept)
    assert [step.number for step in again.steps] == [4, 5]
    assert same(again.trainer.state(), whole.trainer.state())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_nan_stops_the_run_names_what_made_it_and_keeps_the_last_good_state(tmp_path, dtype):
    job, kept = replace(SMALL, dtype=dtype, lr=1e38), checkpoint.Checkpoints(tmp_path, every=1)
    told = r"after step \d, .* is not finite: the first (NaN|infinity) .* the step is undone"
    problem = raises(Diverged, told, a_run, job, 9, checkpoints=kept)
    trainer = problem.run.trainer
    good = load_checkpoint(tmp_path) if trainer.number else None
    assert good is None or same(good.state, trainer.state())
    assert all(np.isfinite(w).all() for w in trainer.weights().values())
    assert len(problem.run.steps) == trainer.number


INTERRUPTED = text_beside(__file__, "interrupted.py.txt")
SAVING = text_beside(__file__, "saving.py.txt")


def started(text, *arguments, cwd):
    """Start Python on a text."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    return subprocess.Popen([sys.executable, "-c", text, *arguments], cwd=cwd, env=environment,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize("count", [5, pytest.param(60, marks=pytest.mark.soak)])
def test_ctrl_c_at_any_moment_leaves_checkpoints_that_load_and_go_on(tmp_path, count):
    with started(INTERRUPTED, str(count), cwd=tmp_path) as child:
        out, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors
    assert int(out.split()[0]) >= count // 2


def test_a_process_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path):
    with started(SAVING, cwd=tmp_path) as child:
        for _ in range(3):
            child.stdout.readline()
        while not list(tmp_path.glob("kept/.*.part")):
            time.sleep(0.0005)
        child.kill()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_checkpoint(tmp_path / "kept")
    assert found.state["a"][0] == found.step >= 2
    save_checkpoint(tmp_path / "kept", a_state(99_999))
    assert not list(tmp_path.glob("kept/.*.part"))
