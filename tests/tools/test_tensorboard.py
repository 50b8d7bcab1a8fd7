"""Judge: TensorBoard's own reader (``EventAccumulator``) finds what the run has.

Numbers, and the page on where a step's time goes.
"""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu.tools.tensorboard import TensorBoard
from trainium_edu.training import Checkpoints, Job, Step, fit

JOB = Job(ranks=2, batch=8, clip=1.0)


@pytest.fixture
def accumulate():
    """Return what reads a folder, whatever is in it."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return lambda folder: EventAccumulator(str(folder)).Reload()


@pytest.fixture
def read(accumulate):
    """Return what reads a folder: tag -> [(step, value)]."""

    def of(folder):
        found = accumulate(folder)
        return {
            tag: [(event.step, event.value) for event in found.Scalars(tag)]
            for tag in found.Tags()["scalars"]
        }

    return of


@pytest.mark.judge
def test_tensorboard_reads_back_equal_numbers(tmp_path, read):
    live = []
    calls = [TensorBoard(tmp_path), lambda step: live.append(read(tmp_path)["loss"])]
    run = fit(JOB, 4, on_step=calls, evaluate_every=2)
    found = read(tmp_path)
    assert live == [found["loss"][: i + 1] for i in range(4)]  # whole after every step
    for name, key in (("loss", "loss"), ("learning rate", "lr"), ("gradient norm", "norm")):
        assert found[name] == [(s.number, float(np.float32(getattr(s, key)))) for s in run.steps]
    assert found["accuracy"] == [(n - 1, float(np.float32(a))) for n, a in run.accuracy]
    assert found["replicas agree"] == [(i, 1.0) for i in range(4)]
    if hasattr(run.trainer, "report"):
        report = run.trainer.report
        for name, value in (
            ("time/step in µs", report.step_ns / 1e3),
            ("time/exposed communication in µs", report.exposed_ns / 1e3),
            ("time/samples per s", report.samples_per_s),
            ("time/MFU", report.mfu),
        ):
            assert found[name] == [(i, pytest.approx(value, rel=1e-6)) for i in range(4)]


@pytest.mark.judge
def test_a_run_that_goes_on_adds_to_its_curves(tmp_path, read):
    kept = Checkpoints(tmp_path / "kept", every=2)
    board = TensorBoard(tmp_path / "logs")
    for steps in (2, 5):
        run = fit(JOB, steps, on_step=board, checkpoints=kept)
    found = read(tmp_path / "logs")["loss"]
    assert sorted(step for step, _ in found) == list(range(5))
    assert dict(found)[4] == float(np.float32(run.loss[-1]))


@pytest.mark.judge
def test_a_report_is_asked_for_once_per_graph(tmp_path, read):
    asked = []

    @dataclass
    class OfGraph:
        device: SimpleNamespace

        @property
        def report(self):
            asked.append(self.device.executable)
            return SimpleNamespace(
                step_ns=2e6, exposed_ns=1e3, compute_ns=0, mfu=0.5, samples_per_s=7
            )

    trainer = OfGraph(SimpleNamespace(executable="a"))
    board = TensorBoard(tmp_path)
    board.begin(SimpleNamespace(trainer=trainer, accuracy=[]))
    for number in range(4):
        trainer.device.executable = "a" if number == 0 else "b"
        board(Step(number, 1.0, np.ones(2), 16, 0.1, True))
    board.end()
    assert asked == ["a", "b"]
    assert read(tmp_path)["time/step in µs"] == [(i, 2000.0) for i in range(4)]


@pytest.mark.skipif(importlib.util.find_spec("tensorboard"), reason="TensorBoard is installed")
def test_without_tensorboard_a_sentence_says_how_to_install_it(tmp_path):
    raises(ModuleNotFoundError, r"pip install 'trainium_edu\[tensorboard\]'", TensorBoard, tmp_path)


def test_nothing_of_tensorboard_is_imported_before_it_is_asked_for():
    code = "import sys, trainium_edu.tools.tensorboard; sys.exit('tensorboard' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.judge
def test_tensorboard_reads_back_where_the_time_goes(tmp_path, accumulate):
    from trainium_edu.xla import Compiler, Device
    from trainium_edu.xla.tensor import as_tensor

    device = Device(compiler=Compiler())
    x = as_tensor(np.ones((128, 512), np.float32), device)
    w = as_tensor(np.ones((512, 64), np.float32), device)
    y = (x @ w + 1.0).sum()
    device.mark_step()
    executable, board = device.executable, TensorBoard(tmp_path)
    for step in (3, 4):
        board.profile(executable, step)  # once for each graph
    board.end()
    assert y.shape == ()
    found = accumulate(tmp_path)
    (tag,) = found.Tags()["tensors"]
    assert tag == "where the time goes/from step 3"
    (page,) = found.Tensors(tag)
    said = page.tensor_proto.string_val[0].decode()
    assert f"{executable.makespan_ns / 1e3:.1f} µs on the chip" in said
    assert "test_tensorboard.py:" in said


@pytest.mark.judge
def test_a_run_has_the_page_beside_its_curves(tmp_path, accumulate):
    run = fit(JOB, 2, on_step=TensorBoard(tmp_path))
    found = accumulate(tmp_path)
    if hasattr(run.trainer, "report"):
        assert found.Tags()["tensors"] == ["where the time goes/from step 0"]
