"""Calling compiled loops.  Judges: a serial run, and what the terminal shows."""

import io
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from trainium_edu import fabric
from trainium_edu.numerics import launch as launching
from trainium_edu.numerics.launch import launch, launch_parallel, serial_only


class SlowToCome:
    """A loop that this process has not called yet, and takes a while."""

    __name__ = "slow_loop"
    overloads = MappingProxyType({})  # Numba's record of compiled versions

    def __init__(self, *, on_disk, until=None):
        self.stats = SimpleNamespace(cache_misses={})
        self._on_disk, self._until = on_disk, until

    def __call__(self, out):
        time.sleep(0.1)
        if not self._on_disk:
            self.stats.cache_misses["a signature"] = 1
        deadline = time.monotonic() + (60 if self._until else 0.2)
        while time.monotonic() < deadline and not (self._until and self._until()):
            time.sleep(0.01)
        out[:] = 1


@pytest.mark.parametrize(
    ("on_disk", "quiet", "times"), [(False, "0", 1), (True, "0", 0), (False, "1", 0)]
)
def test_only_a_slow_call_that_compiles_says_so(monkeypatch, on_disk, quiet, times):
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(launching, "_NOTICE_AFTER_S", 0.02)
    monkeypatch.setattr(launching, "_LOOK_EVERY_S", 0.02)
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", quiet)
    out = np.zeros(3)
    launch(SlowToCome(on_disk=on_disk, until=said.getvalue if times else None), out)
    assert out.tolist() == [1, 1, 1]
    assert said.getvalue().count("compiling slow_loop") == times


@pytest.mark.compiled
@pytest.mark.parametrize("cached", [False, True])
def test_numba_counts_a_miss_before_it_compiles_and_none_for_what_is_on_disk(tmp_path, cached):
    """What the notice rests on: the judge is Numba itself, on a loop of its own."""
    source = tmp_path / "sums.py"
    source.write_text(
        "import numba\n"
        "from numba.core import event\n"
        "class Compiling(event.Listener):\n"
        "    def on_start(self, event): print('misses', len(total.stats.cache_misses))\n"
        "    def on_end(self, event): pass\n"
        "event.register('numba:compile', Compiling())\n"
        "@numba.njit(cache=True)\n"
        "def total(a, b): return a + b\n"
        "print('total', total(1, 2))\n"
    )
    for _ in range(2 if cached else 1):
        done = subprocess.run([sys.executable, source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*([] if cached else ["misses", "1"]), "total", "3"]


def test_a_quick_first_call_says_nothing(capsys):
    out = np.zeros(3)
    launch(SlowToCome(on_disk=False), out)
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

    with pytest.raises(MemoryError):
        launch_parallel(fail, fail)
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
