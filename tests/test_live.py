"""What runs now; judges: psutil on the processes themselves, and what a stranger might try."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.for_each import raises
from tests.texts import text_beside
from tests.tools.conftest import own_folder  # noqa: F401
from trainium_edu import live

HOLDS = text_beside(__file__, "holds.py.txt")


pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def other():
    """Return a process that runs something."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    yield process
    process.kill()
    process.communicate()


def test_a_run_of_another_process_is_seen_as_psutil_sees_it(other):
    (seen,) = live.runs()
    process = psutil.Process(other.pid)
    assert seen.pid == other.pid
    assert seen.process_start_s == pytest.approx(process.create_time(), abs=0.02)
    assert (seen.command, seen.instance) == ("python train.py", "trn1.32xlarge")
    assert seen.cores == tuple(range(32))
    assert not seen.is_tool
    assert not seen.is_idle
    assert seen.now.completed == 96
    (group,) = seen.now.groups
    assert (group.busy_ns, seen.now.elapsed_ns, group.flops) == (6e6, 12e6, 15)
    assert group.memory["tensors"] == 100
    assert seen.latencies_ns == ((2e6, 2e6),) * 3


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_what_a_killed_process_left_is_removed(other):
    file = live.folder() / f"{other.pid}.json"
    assert file.exists()
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert live.runs() == []
    assert not file.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_who_begins_removes_what_the_dead_left(other):
    other.kill()
    other.wait()
    live.begin("python a.py")
    assert [file.stem for file in live.folder().glob("*.json")] == [str(os.getpid())]


def test_a_process_that_ends_leaves_nothing(other):
    other.communicate("")
    assert not list(live.folder().glob("*.json"))


def test_a_number_that_another_process_has_now_is_no_run():
    run = live.begin("python a.py")
    file = live.folder() / f"{os.getpid()}.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps(said | {"process_start_s": said["process_start_s"] - 3600}))
    assert live.runs() == []
    assert not file.exists()
    run.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_not_its_parent():
    run = live.begin("python parent.py")
    run.executed(0, 1.0)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        run.executed(0, 1.0)  # its parent's object says nothing here
        run.publish()
        run.close()
        mine = live.begin("python child.py", cores=(1,))
        said = sorted((one.pid, one.command) for one in live.runs())
        os.write(writing, json.dumps(said).encode())
        mine.close()
        os._exit(0)
    os.waitpid(child, 0)
    said = json.loads(os.read(reading, 10_000))
    assert sorted(said) == sorted([[os.getpid(), "python parent.py"], [child, "python child.py"]])
    assert [one.command for one in live.runs()] == ["python parent.py"]


def test_what_is_counted_is_written_soon_and_aside():
    run = live.begin("python a.py")
    for _ in range(5):
        run.executed(0, 1e3)
    end = time.monotonic() + 10
    while live.runs()[0].now.completed < 5 and time.monotonic() < end:
        time.sleep(0.02)
    assert live.runs()[0].now.completed == 5


def test_without_a_host_clock_cores_work_without_a_pause():
    run = live.begin("python a.py")
    run.executed(0, 3e3)
    run.executed(1, 1e3)
    run.executed(1, None)
    run.publish()
    (seen,) = live.runs()
    assert seen.now.elapsed_ns == 3e3
    assert {g.first: g.busy_ns for g in seen.now.groups} == {0: 3e3, 1: 1e3}
    assert (seen.now.timed, seen.now.untimed) == (2, 1)
    assert seen.cores == (0, 1)


def test_models_share_one_scratchpad_and_keep_their_constants():
    run = live.begin("python a.py")
    run.load(1, "step", constants=4, model_shared_scratchpad=100, tensors=7)
    run.load(2, "test", constants=5, model_shared_scratchpad=30, tensors=8)
    run.publish()
    memory = live.runs()[0].now.groups[0].memory
    assert memory == {"constants": 9, "model_code": 0, "model_shared_scratchpad": 100,
                      "runtime_memory": 0, "tensors": 8}  # fmt: skip
    with pytest.raises(ValueError, match="weights: no such class of memory; there are constants"):
        run.load(3, "test", weights=3)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX modes")
class TestStrangers:
    def test_the_folder_and_files_are_for_their_owner_alone(self):
        live.begin("python a.py")
        assert stat.S_IMODE(live.folder().stat().st_mode) == 0o700

    @pytest.mark.parametrize("spoil", ["open", "link", "file"])
    def test_a_folder_that_others_could_write_to_is_refused(self, spoil, tmp_path):
        folder = live.folder()
        if spoil == "open":
            folder.mkdir()
            folder.chmod(0o777)
        elif spoil == "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        else:
            folder.touch(mode=0o600)
        raises(live.LiveError, "not a folder that only you can use", live.runs)
        run = live.begin("python a.py")
        run.executed(0, 1.0)
        run.publish()
        assert "not a folder that only you can use" in run.problem  # and the run goes on
        if spoil != "file":
            assert not list(folder.iterdir())

    @pytest.mark.parametrize(
        "change",
        [
            {"pid": 1}, {"command": 7}, {"command": "x" * 5000}, {"instance": None},
            {"period_s": -1}, {"period_s": float("nan")}, {"cores": ["0"]}, {"is_tool": "no"},
            {"models": [{"name": "step"}]}, {"latencies_ns": [1, 2]}, {"now": {}},
            {"now": "[" * 3000},
        ],
    )  # fmt: skip
    def test_what_is_not_of_the_form_is_not_believed(self, change):
        live.begin("python a.py")
        file = live.folder() / f"{os.getpid()}.json"
        assert len(live.runs()) == 1
        file.write_text(json.dumps(json.loads(file.read_text()) | change))
        assert live.runs() == []

    def test_links_large_files_and_other_names_are_left_out(self, tmp_path):
        live.begin("python a.py").publish()
        file = live.folder() / f"{os.getpid()}.json"
        for name in ("notes.json", f"{os.getpid()} .json", "٣.json"):
            (live.folder() / name).write_text(file.read_text())
        assert len(live.runs()) == 1
        aside = tmp_path / "aside.json"
        file.rename(aside)
        file.symlink_to(aside)
        assert live.runs() == []
        file.unlink()
        file.write_text(" " * 2**20 + aside.read_text())
        assert live.runs() == []

    def test_what_a_terminal_would_obey_is_taken_out(self):
        live.begin("python \x1b[2J\n\u202ea.py")
        assert live.runs()[0].command == "python  [2J  a.py"


def test_a_full_disk_does_not_stop_the_run(monkeypatch):
    run = live.begin("python a.py")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as at:
        at.setattr(os, "replace", full)
        run.executed(0, 1.0)
        run.publish()
        assert "No space left on device" in run.problem
    run.publish()
    assert run.problem == ""


def test_a_device_of_the_lessons_publishes_what_it_executes():
    from trainium_edu.xla import Compiler, Device
    from trainium_edu.xla.tensor import as_tensor

    device = Device(compiler=Compiler(timed=True))
    x = as_tensor([[1.0, 2.0]], device)
    for _ in range(3):
        x = x + 1.5
        device.mark_step()
    live.current().publish()
    (seen,) = live.runs()
    assert (seen.instance, seen.cores) == ("trn1.2xlarge", (0,))
    assert seen.now.completed == 3
    (group,) = seen.now.groups
    assert group.busy_ns == pytest.approx(3 * device.executable.makespan_ns)
    assert sum(group.memory.values()) == device.executable.hbm_bytes
    (model,) = seen.models
    assert (model.name, model.flops) == (device.executable.name, 2)


def test_a_graph_that_nobody_timed_counts_without_a_time():
    from trainium_edu.xla import Device
    from trainium_edu.xla.tensor import as_tensor

    device = Device()
    x = as_tensor([[1.0, 2.0]], device)
    for ask in (False, True, False):
        x = x + 1.5
        device.mark_step()
        if ask:
            ns = device.executable.makespan_ns
    live.current().publish()
    now = live.runs()[0].now
    assert (now.untimed, now.timed, now.groups[0].busy_ns) == (2, 1, ns)


@pytest.mark.slow
@pytest.mark.clock
def test_counting_takes_less_than_two_microseconds():
    run = live.begin("python a.py")
    run.load(1, "step")
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(10_000):
            run.executed(0, 1.0, model=1)
        best = min(best, (time.perf_counter() - start) / 10_000)
    assert best < 2e-6
    assert Path(live.folder() / f"{os.getpid()}.json").exists()
