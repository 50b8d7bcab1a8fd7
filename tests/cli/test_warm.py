"""Warming compiles every loop; judge: Numba's own list of compiled signatures, in a new process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.texts import text_beside

ROOT = Path(__file__).parents[2]
SCRIPT = text_beside(__file__, "warmed.py.txt")
#: Loops that no lesson calls: what the benchmarks compare with.
FOR_BENCHMARKS = {"trainium_edu.numerics._loops.truncating_copy"}


@pytest.mark.slow
def test_warm_compiles_every_loop_that_lessons_call():
    run = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    lines, cold, warmed = json.loads(done.stdout)
    assert len(lines) == 5
    assert warmed > 10
    assert set(cold) <= FOR_BENCHMARKS
