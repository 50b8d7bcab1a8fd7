"""Calling compiled loops.  Judges: a serial run, and what the terminal shows."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from tests.for_each import raises
from tests.texts import text_beside
from trainium_edu import aside, fabric
from trainium_edu.numerics import launch as launching
from trainium_edu.numerics.launch import launch, launch_parallel, serial_only


class Loop:
    """A loop that Numba has to load from disk, or to compile, when it is called."""

    __name__ = "slow_loop"
    overloads = MappingProxyType({})  # Numba's record of compiled versions

    def __init__(self, *, on_disk, enough=lambda: True):
        self.stats = SimpleNamespace(cache_misses={})
        self._on_disk = on_disk
        self._enough = enough

    def __call__(self, out):
        self._compile_for_args(out)(out)

    def _compile_for_args(self, out):
        assert threading.current_thread() is not threading.main_thread()
        if not self._on_disk:
            self.stats.cache_misses["a signature"] = 1
        assert self._enough()
        return lambda out: out.fill(1)


@pytest.mark.parametrize(
    ("on_disk", "quiet", "times"), [(False, "0", 1), (True, "0", 0), (False, "1", 0)]
)
def test_only_a_slow_call_that_compiles_says_so(monkeypatch, capsys, on_disk, quiet, times):
    monkeypatch.setattr(aside, "LONG_S", 0.0)
    monkeypatch.setattr(aside, "LOOK_EVERY_S", 0.001)
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", quiet)
    looked = threading.Semaphore(0)

    def watched(function, *args, meanwhile):
        def look():
            looked.release()
            return meanwhile()

        return aside.aside(function, *args, meanwhile=look)

    monkeypatch.setattr(launching, "aside", watched)

    def enough():  # the notice is given, or withheld three times
        return all(looked.acquire(timeout=60) for _ in range(1 if times else 3))

    out = np.zeros(3)
    launch(Loop(on_disk=on_disk, enough=enough), out)
    assert out.tolist() == [1, 1, 1]
    assert capsys.readouterr().err.count("compiling slow_loop") == times


@pytest.mark.compiled
@pytest.mark.parametrize("cached", [False, True])
def test_numba_counts_a_miss_before_it_compiles_and_none_for_what_is_on_disk(tmp_path, cached):
    """What the notice rests on: the judge is Numba itself, on a loop of its own."""
    source = tmp_path / "sums.py"
    source.write_text(text_beside(__file__, "sums.py.txt"))
    for _ in range(2 if cached else 1):
        done = subprocess.run([sys.executable, source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*([] if cached else ["misses", "1"]), "total", "3"]


def test_a_quick_first_call_says_nothing(capsys):
    out = np.zeros(3)
    launch(Loop(on_disk=False), out)
    assert capsys.readouterr().err == ""


def test_who_finds_the_lock_taken_runs_the_serial_twin():
    ran = []
    with serial_only():
        launch_parallel(lambda: ran.append("parallel"), lambda: ran.append("serial"))
    launch_parallel(lambda: ran.append("parallel"), lambda: ran.append("serial"))
    assert ran == ["serial", "parallel"]


def test_the_lock_is_free_again_after_an_error():
    def fail():
        raise MemoryError

    raises(MemoryError, "", launch_parallel, fail, fail)
    ran = []
    launch_parallel(lambda: ran.append("parallel"), lambda: ran.append("serial"))
    assert ran == ["parallel"]


def test_many_threads_in_parallel_loops_neither_abort_nor_differ():
    """Numba's workqueue layer aborts the process when two threads enter at once."""
    buffers = np.random.default_rng(0).standard_normal((16, 5_000)).astype(np.float32)
    with serial_only():
        expected = fabric.ring_all_reduce(buffers.copy())
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fabric.ring_all_reduce(buffers.copy()), range(64)))
    assert all(np.array_equal(expected, r) for r in results)
