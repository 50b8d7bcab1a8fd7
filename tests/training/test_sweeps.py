"""Judges: the same points one after the other, bit for bit; files that count every run; Dask."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import psutil
import pytest

from trainium_edu.training.sweeps import Row, Table, sweep
from trainium_edu.training.trainer import Job

SMALL = Job(ranks=2, batch=8)
GRID = {"dtype": ["float32", "bfloat16"], "seed": range(2)}


class Here(Executor):
    """Runs at once, in this thread."""

    def submit(self, function, /, *args):
        future = Future()
        future.set_result(function(*args))
        return future


def noted(job, steps):
    """Leave a file for each time a point ran: the seed's folder is named by the learning rate."""
    folder = Path(os.environ["SWEEP_RUNS"])
    (folder / f"{job.seed}-{time.monotonic_ns()}").touch()
    return {"twice": 2 * job.seed}


def dies_once(job, steps):
    result = noted(job, steps)
    if job.seed == 1 and len(list(Path(os.environ["SWEEP_RUNS"]).glob("1-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
    return result


def dies_always(job, steps):
    if job.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return noted(job, steps)


def takes_long(job, steps):
    result = noted(job, steps)
    time.sleep(0.05 if job.seed < 3 else 100)
    return result


def fails_at_1(job, steps):
    if job.seed == 1:
        raise ArithmeticError("no luck")
    return {"loss": float(job.seed)}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder that counts runs, of child processes too."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("SWEEP_RUNS", str(folder))
    return lambda: sorted(name.partition("-")[0] for name in os.listdir(folder))


def test_rows_keep_the_order_of_the_grid_and_come_one_by_one():
    came = []
    table = sweep(SMALL, GRID, steps=2, executor=Here(), on_result=came.append)
    assert [tuple(row.point.values()) for row in table.rows] == [
        ("float32", 0), ("float32", 1), ("bfloat16", 0), ("bfloat16", 1),
    ]  # fmt: skip
    assert sorted(map(repr, came)) == sorted(map(repr, table.rows))
    assert len(set(table.column("weights"))) == 4
    lines = str(table).splitlines()
    assert lines[0].split() == ["dtype", "seed", "loss", "accuracy", "weights"]
    assert len({len(line) for line in lines}) == 1


def test_the_same_bits_on_processes_on_threads_and_here():
    one_by_one = sweep(SMALL, GRID, steps=3, executor=Here())
    with ThreadPoolExecutor(3) as threads:
        assert sweep(SMALL, GRID, steps=3, executor=threads) == one_by_one
    assert sweep(SMALL, GRID, steps=3) == one_by_one
    assert not any(row.error for row in one_by_one.rows)


def test_a_column_that_no_row_has_is_refused():
    rows = [Row({"lr": 0.1}, {"a": 1.0}), Row({"lr": 0.2}, error="x")]
    assert Table(rows).column("a") == [1.0, None]
    with pytest.raises(ValueError, match="no row has 'b'; rows have lr, a"):
        Table(rows).column("b")


def test_an_error_in_one_point_is_a_row_with_its_message():
    table = sweep(SMALL, {"seed": range(3)}, steps=1, executor=Here(), measure=fails_at_1)
    assert [row.error for row in table.rows] == ["", "ArithmeticError: no luck", ""]
    assert table.column("loss") == [0.0, None, 2.0]
    assert str(table).splitlines()[2].split() == ["1", "-", "ArithmeticError:", "no", "luck"]
    table = sweep(SMALL, {"master_weights": [False, True], "dtype": ["float32"]}, steps=1,
                  executor=Here(), measure=fails_at_1)  # fmt: skip
    assert "leave master_weights out" in table.rows[1].error


def test_a_stopped_sweep_goes_on_and_runs_each_point_once(tmp_path, runs):
    def stop(row):
        if row.point["seed"] == 2:
            raise KeyboardInterrupt

    given = {"over": {"seed": range(5)}, "steps": 1, "folder": tmp_path / "kept",
             "executor": Here(), "measure": noted}  # fmt: skip
    with pytest.raises(KeyboardInterrupt) as stopped:
        sweep(SMALL, on_result=stop, **given)
    done = len(stopped.value.table)
    assert f"{done} of 5 points are done and stay in" in stopped.value.__notes__[0]
    assert len(os.listdir(tmp_path / "kept")) == done
    table = sweep(SMALL, **given)
    assert table.column("twice") == [0, 2, 4, 6, 8]
    ran = runs()
    assert set(ran) == set("01234")
    again = sweep(SMALL, **given)
    assert again == table
    assert runs() == ran
    assert len(ran) <= 5 + 5 - done  # those that were given to the executor when it stopped
    sweep(SMALL, **given | {"steps": 2})  # other steps are other points
    assert len(runs()) == len(ran) + 5


def test_a_damaged_point_runs_again_and_is_named(tmp_path, runs):
    given = {"over": {"seed": [0, 1]}, "steps": 1, "folder": tmp_path / "kept",
             "executor": Here(), "measure": noted}  # fmt: skip
    table = sweep(SMALL, **given)
    victim = sorted((tmp_path / "kept").iterdir())[0]
    victim.write_text(victim.read_text()[:-3])
    with pytest.warns(UserWarning, match=rf"{victim.name} is damaged; its point runs again"):
        assert sweep(SMALL, **given) == table
    assert len(runs()) == 3


@pytest.mark.slow
def test_killed_worker_stops_the_sweep_which_goes_on_from_its_folder(tmp_path, runs):
    """``BrokenProcessPool``: Python's documentation calls a pool with a killed process unusable."""
    given = {"over": {"seed": range(4)}, "steps": 1, "measure": dies_once, "folder": tmp_path / "k"}
    with pytest.raises(BrokenProcessPool) as broken:
        sweep(SMALL, **given)
    told = "\n".join(broken.value.__notes__)
    assert "a worker was killed (short of memory?" in told
    assert "seed=1" in told
    assert told.endswith(f"{len(broken.value.table)} of 4 points are done and stay in {tmp_path}/k")
    assert sweep(SMALL, **given).column("twice") == [0, 2, 4, 6]
    assert runs().count("1") == 2


@pytest.mark.slow
def test_killed_worker_of_an_executor_that_was_given_asks_for_a_new_one(runs):
    with ProcessPoolExecutor(1) as processes, pytest.raises(BrokenProcessPool) as broken:
        sweep(SMALL, {"seed": [1]}, steps=1, measure=dies_always, executor=processes)
    assert "begin again with the same folder and a new executor" in broken.value.__notes__[0]


SCRIPT = """
from tests.training.test_sweeps import SMALL, sweep, takes_long
if __name__ == "__main__":
    print("ready", flush=True)
    sweep(SMALL, {"seed": range(8)}, steps=1, measure=takes_long, folder="kept")
"""


@pytest.mark.slow
def test_ctrl_c_stops_quickly_and_keeps_what_is_done(tmp_path, runs):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).resolve().parents[2]
    # a group of its own, and the signal to all of it: as a terminal does
    child = subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)},
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        begun = time.monotonic()
        while len(runs()) < 4:  # one of those that take long
            assert time.monotonic() < begun + 60
            time.sleep(0.05)
        workers = psutil.Process(child.pid).children(recursive=True)
        os.killpg(child.pid, signal.SIGINT)
        sent = time.monotonic()
        _, told = child.communicate(timeout=20)
    finally:
        child.kill()
    assert time.monotonic() - sent < 10
    assert child.returncode != 0
    done = len(os.listdir(tmp_path / "kept"))
    assert 1 <= done <= 3
    assert f"{done} of 8 points are done and stay in kept" in told
    _, left = psutil.wait_procs(workers, timeout=5)
    assert all(one.status() == psutil.STATUS_ZOMBIE for one in left)


@pytest.mark.parametrize(
    ("over", "told"),
    [({"sed": [0]}, "over has 'sed', which no job has; use task"), ({"seed": []}, "no values"),
     ({"seed": [0, 0]}, "a value twice")],
)  # fmt: skip
def test_grids_that_cannot_be(over, told):
    with pytest.raises(ValueError, match=told):
        sweep(SMALL, over, steps=1, executor=Here())


def slowly(job, steps):
    result = noted(job, steps)
    time.sleep(0.3)
    return result


@pytest.mark.judge
def test_a_dask_cluster_loses_a_worker_in_mid_sweep_and_nothing_else(tmp_path, runs):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                 dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        came = []

        def kill_one(row):
            came.append(row)
            if len(came) == 2:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        given = {"over": {"seed": range(10)}, "steps": 1, "folder": tmp_path / "kept",
                 "executor": client.get_executor()}  # fmt: skip
        table = sweep(SMALL, measure=slowly, on_result=kill_one, **given)
        assert table.column("twice") == list(range(0, 20, 2))
        assert len(came) == len({row.point["seed"] for row in came}) == 10
        assert set(runs()) == {str(i) for i in range(10)}
        assert len(os.listdir(tmp_path / "kept")) == 10
        real = sweep(SMALL, GRID, steps=2, executor=client.get_executor())
        killed = sweep(SMALL, {"seed": [1]}, steps=1, measure=dies_always,
                       executor=client.get_executor())  # fmt: skip
    assert killed.rows[0].error.startswith("KilledWorker: ")  # after Dask's own retries
    assert real == sweep(SMALL, GRID, steps=2, executor=Here())
