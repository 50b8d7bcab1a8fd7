"""Warming compiles every loop; judge: Numba's own list of compiled signatures, in a new process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import importlib, json, pkgutil, trainium_edu  # loops with an underscore are inlined by others
from trainium_edu.cli import warm
lines = list(warm.warm())
cold, warmed = [], 0
for info in pkgutil.walk_packages(trainium_edu.__path__, "trainium_edu."):
    if info.name.endswith("._loops"):
        for name, loop in vars(importlib.import_module(info.name)).items():
            if hasattr(loop, "signatures") and not name.startswith("_"):
                warmed += 1
                if not loop.signatures:
                    cold.append(f"{info.name}.{name}")
import numpy as np
from trainium_edu import numerics
from trainium_edu.numerics import _loops
before = {n: len(f.signatures) for n, f in vars(_loops).items() if hasattr(f, "signatures")}
frozen = np.linspace(-2, 2, 8, dtype=np.float32)
frozen.setflags(write=False)  # as most arrays of the package are
for fmt in numerics.FORMATS.values():
    for rounding in numerics.ROUNDINGS:
        numerics.cast(frozen, fmt, rounding)
        numerics.cast(frozen.astype(float), fmt, rounding, n_random_bits=24)
anew = [n for n, count in before.items() if len(vars(_loops)[n].signatures) > count]
print(json.dumps([lines, cold + anew, warmed]))
"""
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
