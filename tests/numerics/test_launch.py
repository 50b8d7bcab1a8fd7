"""Calling compiled loops.  Judges: a serial run, and what the terminal shows."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import numpy as np
import pytest

from trainium_edu import fabric
from trainium_edu.numerics import launch as launching
from trainium_edu.numerics.launch import launch, launch_parallel, serial_only


class SlowToCompile:
    """A loop that has not been compiled, and takes a while."""

    __name__ = "slow_loop"
    signatures = ()
    overloads = MappingProxyType({})  # Numba's record of compiled versions

    def __call__(self, out):
        time.sleep(0.2)
        out[:] = 1


@pytest.mark.parametrize(("quiet", "said"), [("0", True), ("1", False)])
def test_a_slow_first_call_says_that_it_compiles(monkeypatch, capsys, quiet, said):
    monkeypatch.setattr(launching, "_NOTICE_AFTER_S", 0.02)
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", quiet)
    out = np.zeros(3)
    launch(SlowToCompile(), out)
    assert out.tolist() == [1, 1, 1]
    assert ("compiling slow_loop" in capsys.readouterr().err) is said


def test_a_quick_first_call_says_nothing(capsys):
    out = np.zeros(3)
    launch(SlowToCompile(), out)
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
