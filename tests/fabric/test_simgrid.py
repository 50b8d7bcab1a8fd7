"""Judge: SimGrid itself, where Debian's python3-simgrid is installed; messages on its torus."""

import collections
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.fabric import Costs
from trainium_edu.fabric.accounting import move_weights
from trainium_edu.fabric.schedule import Op

pytestmark = pytest.mark.judge
SYSTEM_PYTHON = "/usr/bin/python3"
SCRIPT = Path(__file__).with_name("texts") / "simgrid_torus.py.txt"
TORUS = fabric.torus(4, 4, latency_ns=1000)
SIMULATORS = Costs(latency="each", hbm="ignored", ties="one_way")


def messages(schedule, weights):
    """Join the moves of one step between the same two ranks: (step, src, dst) and bytes."""
    joined = collections.Counter()
    columns = (schedule.step, schedule.src, schedule.dst, schedule.op, schedule.phase, weights)
    for step, src, dst, op, phase, weight in zip(*map(np.ndarray.tolist, columns), strict=True):
        if op != Op.SETTLE and src != dst and phase == 1:
            joined[step, src, dst] += weight
    return sorted(joined.items())


def simulate(schedule, nbytes):
    """Pass every rank its sends and receives, and return SimGrid's nanoseconds."""
    sizes = fabric.item_sizes(schedule, nbytes).astype(float)
    ranks = [[[[], []] for _ in range(schedule.steps)] for _ in range(schedule.ranks)]
    for (step, src, dst), size in messages(schedule, move_weights(schedule, sizes)):
        ranks[src][step][0].append([dst, int(size)])
        ranks[dst][step][1].append(src)
    job = {"shape": list(TORUS.shape), "bandwidth": float(TORUS.bandwidth_bytes_per_s[0]),
           "latency": 1e-6, "ranks": ranks}  # fmt: skip
    done = subprocess.run(
        [SYSTEM_PYTHON, SCRIPT], input=json.dumps(job), text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-500:]
    return float(done.stdout) * 1e9


@pytest.fixture(scope="module", autouse=True)
def _simgrid():
    try:
        probe = subprocess.run([SYSTEM_PYTHON, "-c", "import simgrid"], capture_output=True)
    except OSError:
        pytest.skip(f"no {SYSTEM_PYTHON}")
    if probe.returncode:
        pytest.skip("SimGrid is not installed (apt-get install python3-simgrid)")


@for_rows(
    "collective, algorithm, options",
    ("all_reduce", "ring", {"cycles": 1}),
    ("all_reduce", "ring", {"cycles": 1, "order": list(range(16))}),
    ("all_reduce", "ring", {}),
    ("all_reduce", "halving_doubling", {}),
    ("all_reduce", "halving_doubling", {"order": "plain"}),
    ("all_reduce", "ring_by_dimension", {"lanes": 4}),
    ("all_gather", "halving_doubling", {"order": "plain", "low_first": False}),
    ("broadcast", "ring", {}),
)
@for_rows("nbytes", 2**20, 2**26)
def test_account_equals_simgrid(collective, algorithm, options, nbytes):
    schedule = fabric.plan(TORUS, collective, algorithm, **options)
    ours = fabric.account(schedule, TORUS, nbytes, SIMULATORS).total_ns
    assert ours == pytest.approx(simulate(schedule, nbytes), rel=1e-3)


@for_rows("collective", "all_reduce", "all_gather", "all_to_all")
def test_account_bounds_simgrid_where_messages_share_links(collective):
    """Fluid messages leave a crowded link early; the account waits for the busiest one."""
    schedule = fabric.plan(TORUS, collective, "mesh")
    sizes = (2**20, 2**26)
    ours = [fabric.account(schedule, TORUS, n, SIMULATORS).total_ns for n in sizes]
    theirs = [simulate(schedule, n) for n in sizes]
    assert 1 <= ours[1] / theirs[1] < 1.01 < ours[0] / theirs[0] < 1.3
    assert ours[1] - ours[0] == pytest.approx(theirs[1] - theirs[0], rel=1e-3)
