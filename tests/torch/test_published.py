"""What runs on the bridge is seen by the tools around a run; judges: the run's own record, psutil.

Skipped without PyTorch.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.texts import text_beside

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.judge

ROOT = Path(__file__).parents[2]
SCRIPT = text_beside(__file__, "published.py.txt")


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return file


def test_a_script_is_seen_while_it_runs_and_not_after(script, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "trainium_edu", "run", "--instance", "trn1.32xlarge", script]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    out, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems
    pid, said, instance, count, elapsed, cores, busy, held = json.loads(out.splitlines()[-1])
    assert (pid, said, instance) == (process.pid, f"python {script}", "trn1.32xlarge")
    assert (count, cores) == (5, [0])
    assert elapsed > 0
    assert 0 < busy[0] <= 100
    assert held >= 4 * (64 * 64 + 64 + 8 * 64)  # weights, biases, the batch
    assert not psutil.pid_exists(pid) or psutil.Process(pid).cmdline() != command
    assert not list(tmp_path.glob("trainium_edu-live-*/*"))


HOLDS = text_beside(__file__, "holds.py.txt")


def test_ranks_hold_a_neuroncore_each(tmp_path):
    (tmp_path / "train.py").write_text(HOLDS)
    command = [sys.executable, "-m", "trainium_edu", "torchrun", "--nproc_per_node=4", "train.py"]
    ran = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=True,
                         env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=120)  # fmt: skip
    found = [line for line in ran.stdout.splitlines() if line.startswith("trn1")]
    assert sorted(found) == [f"trn1.32xlarge {core} 1" for core in range(4)]
