"""Judges: the run that was never stopped, bit for bit; the safetensors library for the format."""

import os
import resource
from dataclasses import asdict, replace

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.training import checkpoint
from trainium_edu.training.checkpoint import (
    CheckpointDamaged,
    CheckpointError,
    Checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from trainium_edu.training.trainer import Job, Trainer

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
    assert set(found.arrays) == {
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
    safetensors = pytest.importorskip("safetensors")
    torch = pytest.importorskip("torch")
    path = save_checkpoint(tmp_path, a_state())
    ours = load_checkpoint(path).arrays
    with safetensors.safe_open(path, "pt") as file:
        assert set(file.keys()) == set(ours)
        for name in file.keys():  # noqa: SIM118  not a mapping
            theirs = file.get_tensor(name)
            assert theirs.dtype == torch.bfloat16 or theirs.numpy().dtype == ours[name].dtype
            assert np.array_equal(theirs.float().numpy(), ours[name].astype(np.float32))


def test_every_flipped_byte_is_noticed(tmp_path):
    path = save_checkpoint(tmp_path, a_state())
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged|cut|header of a checkpoint"):
            load_checkpoint(path)


def test_every_cut_is_noticed(tmp_path):
    path = save_checkpoint(tmp_path, a_state())
    data = path.read_bytes()
    for length in [*range(0, len(data), 3), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match=r"cut|header of a checkpoint"):
            load_checkpoint(path)
    path.write_bytes(data + b"more")
    with pytest.raises(CheckpointError, match=r"more than its header counts"):
        load_checkpoint(path)


def test_the_one_before_a_damaged_one_is_used_and_a_warning_says_so(tmp_path):
    for step in (10, 20, 30):
        path = save_checkpoint(tmp_path, a_state(step))
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\xff")
    (tmp_path / "step-00000020.safetensors").write_bytes(data[:50])
    told = r"step-00000030.*checksum of .* differs; step-00000020.* is cut .*; step-00000010"
    with pytest.warns(CheckpointDamaged, match=told):
        assert load_checkpoint(tmp_path).step == 10
    (tmp_path / "step-00000010.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* is whole: .*to begin anew"):
        load_checkpoint(tmp_path)


def test_the_newest_stay_and_a_damaged_newer_one_pushes_no_good_one_out(tmp_path):
    for step in (10, 20, 30, 40):
        save_checkpoint(tmp_path, a_state(step), keep=2)
    names = ["step-00000030.safetensors", "step-00000040.safetensors"]
    assert sorted(os.listdir(tmp_path)) == names
    (tmp_path / names[1]).write_bytes(b"")
    save_checkpoint(tmp_path, a_state(35), keep=1)
    with pytest.warns(CheckpointDamaged):
        assert load_checkpoint(tmp_path).step == 35


def test_another_format_or_version_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "VERSION", 2)
    path = save_checkpoint(tmp_path, a_state())
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"version 2 of the format.* reads 1"):
        load_checkpoint(tmp_path)
    np.savez(tmp_path / "weights.npz", a=np.ones(3))
    with pytest.raises(CheckpointError, match=r"weights.npz cannot be used: .*"):
        load_checkpoint(tmp_path / "weights.npz")
    with pytest.raises(CheckpointError, match=r"there is no checkpoint in"):
        load_checkpoint(tmp_path / "nowhere")
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
        Checkpoints(tmp_path / "file" / "in")


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
    with pytest.raises(ValueError, match=told):
        save_checkpoint(tmp_path, a_state() | more)
    with pytest.raises(CheckpointError, match=r"no 'job'"):
        save_checkpoint(tmp_path, {"number": 1})


# -- runs -----------------------------------------------------------------------------------------

SMALL = Job(ranks=2, batch=90, lr=0.05)  # eight steps an epoch: the orders of several are met
KINDS = {
    "fp32": {"dtype": "float32", "rounding": "nearest"},
    "momentum": {"momentum": 0.9},
    "masters": {"momentum": 0.9, "master_weights": True},
    "adam": {"optimizer": "adam", "lr": 0.002, "weight_decay": 0.01, "clip": 1.0},
}  # fmt: skip


def a_run(job, steps, folder=None, every=10):
    """Train with checkpoints as ``fit`` does; return the trainer and the losses."""
    trainer, kept = Trainer(job), folder and Checkpoints(folder, every)
    if kept and (found := kept.newest(job)):
        trainer.load_state(found.state)
    losses = {}
    while trainer.number < steps:
        step = trainer.step()
        losses[step.number] = step.loss_of_rank.tolist()
        if kept:
            kept.after(trainer.number, trainer.state)
    return trainer, losses


@pytest.mark.parametrize("kind", KINDS)
def test_ten_steps_and_ten_resumed_equal_twenty_bit_for_bit(tmp_path, kind):
    job = replace(SMALL, **KINDS[kind])
    whole, losses = a_run(job, 20)
    _, first = a_run(job, 10, tmp_path)
    resumed, second = a_run(job, 20, tmp_path)
    assert first | second == losses
    assert list(second) == list(range(10, 20))
    assert same(whole.state() | {"job": 0}, resumed.state() | {"job": 0})


def test_more_ranks_go_on_with_equal_state_and_it_is_said(tmp_path):
    trainer, _ = a_run(SMALL, 2, tmp_path, every=2)
    before, other = trainer.state(), replace(SMALL, ranks=4, batch=45, overlap=False)
    with pytest.warns(UserWarning, match=r"goes on from step 2 .*ranks 2 -> 4, batch 90 -> 45"):
        found = Checkpoints(tmp_path).newest(other)
    more = Trainer(other)
    more.load_state(found.state)
    assert same(before | {"job": 0}, more.state() | {"job": 0})


@pytest.mark.parametrize(
    ("field", "value"),
    [("dtype", "float32"), ("optimizer", "adam"), ("momentum", 0.5), ("seed", 1),
     ("master_weights", True)],
)  # fmt: skip
def test_a_checkpoint_of_another_job_is_refused_by_the_field_that_differs(tmp_path, field, value):
    save_checkpoint(tmp_path, a_state() | {"job": asdict(SMALL)})
    with pytest.raises(CheckpointError, match=rf"another job: its {field} is .* here it is"):
        Checkpoints(tmp_path).newest(replace(SMALL, **{field: value}))
    assert Checkpoints(tmp_path).newest(SMALL).step == 20
