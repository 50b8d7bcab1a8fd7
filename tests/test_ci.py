"""The run of all lanes.  Judge: the shell's exit status, which is all that a CI machine reads."""

import re
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"
LANES = """
lane_first() { echo one; }
lane_second() { echo two; false; echo never; }
lane_third() { echo three; }
"""


@pytest.mark.parametrize(
    ("turns", "status", "end"),
    [
        ('"first" "third first"', 0, r"third +0\.\d min\nfirst +0\.\d min\nall +0\.\d min\n$"),
        ('"first" "second third"', 1, r"second +0\.\d min  FAILED\nthird(.*\n)+failed: second\n$"),
    ],
)
def test_the_run_ends_with_zero_exactly_when_no_lane_failed(tmp_path, turns, status, end):
    text = RUN.read_text()
    turned, found = re.subn(r"^TURNS=\(.*\)$", f"TURNS=({turns})\n{LANES}", text, flags=re.M)
    assert found == 1
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text(turned)
    done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert "== first ==\none\n" in done.stdout
    assert "never" not in done.stdout
    assert re.search(end, done.stdout)
