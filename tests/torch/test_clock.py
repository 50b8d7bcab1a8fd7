"""The emulated clock: closed forms of its time; Python's, tqdm's and PyTorch's own timeouts."""

import os
import queue
import subprocess
import sys
import threading
import time
import timeit
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from datetime import datetime
from itertools import pairwise
from time import perf_counter as by_name

import pytest

from tests.for_each import for_rows, raises
from trainium_edu.torch.clock import HOST_BYTES_PER_S, HOST_LATENCY_NS, READING_NS, Clock, emulated

REAL = time.perf_counter, time.time, time.monotonic, time.sleep, timeit.default_timer


def test_a_step_waits_for_the_one_before_and_runs_beside_the_host():
    clock = Clock()
    assert [clock.execute(100.0) for _ in range(3)] == [(0, 100), (100, 200), (200, 300)]
    assert clock.host_ns == 200  # the third runs while the script goes on
    clock.add_host(250, "loader")  # longer than it takes
    assert clock.execute(100.0) == (450, 550)
    assert clock.wait() == 550
    assert clock.spent_ns == {"device": 300, "loader": 250}
    assert clock.wait_for(600.0, "loader") == 600
    assert clock.waits == [(200, 450, "loader"), (550, 600, "loader")]


def test_a_long_loop_takes_the_slower_of_host_and_chip():
    for host, chip in ((30.0, 100.0), (100.0, 30.0)):
        clock = Clock()
        for _ in range(1000):
            clock.add_host(host, "loader")
            clock.execute(chip)
        assert clock.wait() == 1000 * max(host, chip) + min(host, chip)


def test_copies_take_their_bytes_over_the_links_rate():
    clock = Clock()
    size = int(float(HOST_BYTES_PER_S)) // 1000
    assert clock.transfer(size, "to") == float(HOST_LATENCY_NS) + 1e6
    clock.execute(5e6)
    clock.transfer(0, "from")  # waits for what it copies
    assert clock.host_ns == 6e6 + 2 * float(HOST_LATENCY_NS)
    with clock.aside():
        assert clock.transfer(size, "from") == 0
    assert clock.host_ns == 6e6 + 2 * float(HOST_LATENCY_NS)


def test_the_clock_never_runs_backwards():
    clock = Clock()
    clock.wait_for(1e9, "loader")
    assert clock.wait_for(10, "loader") == 1e9
    raises(ValueError, "time for loader is -1", clock.add_host, -1, "loader")
    raises(ValueError, "makespan_ns is nan", clock.execute, float("nan"))
    raises(ValueError, "direction is 'up'; it must be one of to, from", clock.transfer, 1, "up")


@for_rows("name", "time", "perf_counter", "monotonic")
def test_a_script_sees_emulated_time_and_a_microsecond_for_each_reading(name):
    clock = Clock()
    with emulated(clock):
        read, exact = getattr(time, name), getattr(time, f"{name}_ns")
        first, first_ns = read(), exact()
        clock.execute(3e9)
        clock.wait()
        assert exact() - first_ns == 3e9 + float(READING_NS)
        assert read() - first == pytest.approx(3 + 3e-6, abs=1e-6)
        assert abs(first - getattr(time, name)()) < 4
        steps = [read() for _ in range(50)]
        assert all(a < b for a, b in pairwise(steps))


def test_clocks_of_a_script_are_emulated_also_under_names_imported_before():
    clock = Clock()
    with emulated(clock):
        begin, timer = by_name(), timeit.default_timer()
        clock.add_host(7e9, "loader")
        assert by_name() - begin == pytest.approx(7, abs=1e-4)
        assert timeit.default_timer() - timer == pytest.approx(7, abs=1e-4)
        one = timeit.timeit(lambda: clock.add_host(2e9, "loader"), number=3)
        assert one == pytest.approx(6, abs=1e-4)
    with emulated(Clock()):
        deadline = time.monotonic() + 0.01
        while time.monotonic() < deadline:
            pass
    clock = Clock()
    clock.add_host(30 * 86400e9, "loader")
    with emulated(clock):
        assert abs(datetime.now().timestamp() - REAL[1]()) < 60


def test_all_is_as_before_afterwards_also_after_an_error():
    kept = []

    def script():
        kept.append(time.perf_counter)
        raise KeyError

    with pytest.raises(KeyError), emulated(Clock()):
        script()
    now = time.perf_counter, time.time, time.monotonic, time.sleep, timeit.default_timer
    assert now == REAL
    assert by_name is REAL[0]
    assert timeit.Timer.__init__.__defaults__[2] is REAL[0]
    begin = REAL[0]()
    assert 0 <= kept[0]() - begin < 5  # a name kept from the run reads the real clock


def test_wall_changes_nothing_and_two_runs_at_once_are_refused():
    with emulated(None):
        assert (time.perf_counter, time.sleep) == (REAL[0], REAL[3])
    with emulated(Clock()), pytest.raises(RuntimeError, match="end that run"), emulated(Clock()):
        pass


def test_sleep_adds_its_time_and_sleeps_in_other_threads_only():
    clock, begin = Clock(), REAL[0]()
    with emulated(clock):
        time.sleep(3600)
        raises(ValueError, "non-negative", time.sleep, -1)
    assert clock.host_ns == 3600e9
    assert REAL[0]() - begin < 60
    clock, begin = Clock(), REAL[0]()
    with emulated(clock):
        watcher = threading.Thread(target=time.sleep, args=(0.05,))
        watcher.start()
        watcher.join()
    assert clock.host_ns == 0
    assert REAL[0]() - begin >= 0.05


def test_timeouts_of_python_end_in_real_time():
    with emulated(Clock()):
        begin = REAL[0]()
        condition = threading.Condition()
        with condition:
            assert not condition.wait_for(lambda: False, timeout=0.05)
        raises(queue.Empty, "", queue.Queue().get, timeout=0.05)
        with ThreadPoolExecutor(1) as pool, pytest.raises(Late):
            pool.submit(REAL[3], 0.2).result(timeout=0.05)
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run([sys.executable, "-c", "import time; time.sleep(9)"], timeout=0.05)
        import multiprocessing

        receiving, _ = multiprocessing.Pipe()
        assert not receiving.poll(0.05)
        raises(queue.Empty, "", multiprocessing.Queue().get, timeout=0.05)
        import asyncio

        raises(asyncio.TimeoutError, "", asyncio.run, asyncio.wait_for(asyncio.sleep(5), 0.05))
        assert 0.25 <= REAL[0]() - begin < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_sees_the_real_clock():
    clock = Clock()
    with emulated(clock):
        child = os.fork()
        if child == 0:
            os._exit(0 if abs(time.time() - REAL[1]()) < 60 else 1)
        clock.add_host(1e15, "loader")
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.judge
def test_tqdm_shows_emulated_iterations_per_second():
    tqdm = pytest.importorskip("tqdm").tqdm
    clock = Clock()
    with emulated(clock), tqdm(total=100, file=open(os.devnull, "w"), smoothing=0) as bar:
        for _ in range(100):
            clock.execute(20e6)
            clock.wait()
            bar.update()
        assert bar.format_dict["elapsed"] == pytest.approx(2.0, abs=1e-3)
        assert "50.0" in str(bar)


@pytest.mark.judge
def test_a_data_loader_with_workers_and_a_timeout_works_and_its_workers_sleep_for_real():
    data = pytest.importorskip("torch").utils.data

    class Slow(data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            time.sleep(0.02)
            return i

    clock, begin = Clock(), REAL[0]()
    with emulated(clock):
        found = list(data.DataLoader(Slow(), batch_size=2, num_workers=2, timeout=20))
    assert [batch.tolist() for batch in found] == [[0, 1], [2, 3], [4, 5]]
    assert clock.host_ns == 0
    assert REAL[0]() - begin >= 0.04


@pytest.mark.judge
def test_what_a_script_copies_takes_its_time_and_a_value_waits_for_the_chip():
    torch = pytest.importorskip("torch")
    from trainium_edu.torch import core as cores
    from trainium_edu.torch.core import Core
    from trainium_edu.torch.device import register

    def copy(size):
        return float(HOST_LATENCY_NS) + size / float(HOST_BYTES_PER_S) * 1e9

    register()
    core = Core(values="all")
    before = cores.make_current(core)
    try:
        x = torch.ones(1000, 250).to("xla")
        assert core.clock.host_ns == copy(1_000_000)
        total = x.sum()
        assert core.clock.host_ns == copy(1_000_000)  # recorded; nothing ran
        assert total.item() == 250_000
    finally:
        cores.make_current(before)
    (step,) = core.steps
    assert step.end_ns > step.begin_ns == copy(1_000_000)
    assert core.clock.host_ns == pytest.approx(step.end_ns + copy(4))
    assert core.clock.spent_ns["device"] == pytest.approx(step.end_ns - step.begin_ns)
