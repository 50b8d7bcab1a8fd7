"""How fast plans are found: a 175B model on 4096 chips, a move of a slider; `make bench`.

The peer, in the same run, tries every plan one after the other: its memory and, where that fits,
its step.  Neither has seen its plans before; how long collectives take on the wires both know.
"""

import subprocess
import sys
import time

from tests.benchmarks.timed import Table
from tests.texts import text_beside
from trainium_edu.cluster import Cluster, Rules, fits, get_model, memory, step_time
from trainium_edu.cluster.search import CHOICES, Search

MODEL = get_model("gpt3-175b")
CLUSTER = Cluster("trn1.32xlarge", 256)
#: A process of its own: seconds of its first search, imports apart.
COLD = text_beside(__file__, "first_search.py.txt")


def timed(call, *arguments, **settings):
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    found = call(*arguments, **settings)
    return time.perf_counter() - start, found


def cold() -> float:
    """Return the seconds of the first search of a process, the best of three."""
    run = [sys.executable, "-c", COLD]
    return min(float(subprocess.check_output(run, text=True)) for _ in range(3))


def every(batch):
    """Try all plans; return the best step, and how many plans there are."""
    rules = Rules(host_ns=Rules().host_ns + 1)  # another clock, which remembers no step
    search = Search(MODEL, CLUSTER, batch, "adamw", False, rules, **CHOICES)
    best, count = float("inf"), 0
    for settings, sizes in search.groups():
        for size in sizes:
            plan, count = search.plan(settings, size), count + 1
            if memory(MODEL, plan).fits:
                best = min(best, step_time(MODEL, plan, rules=rules).step_ns)
    return best, count


def beside(batches=(1024, 2048, 3072, 4096)):
    """Return the seconds of our searches, of trying all, and the number of plans."""
    mine = its = plans = 0
    for batch in batches:
        seconds, found = timed(fits, MODEL, CLUSTER, global_batch=batch)
        other, (best, count) = timed(every, batch)
        assert abs(found.best.step_ns + 1 - best) < 1e-3
        mine, its, plans = mine + seconds, its + other, plans + count
    return mine, its, plans


def moves() -> list:
    """Return the seconds of moves of a slider to where it never was, the shortest first."""
    places = (32, 64, 128, 256)
    for instances in places:  # a first drag
        fits(MODEL, Cluster(instances=instances), global_batch=512)
    return sorted(timed(fits, MODEL, Cluster(instances=instances), global_batch=batch)[0]
                  for batch in (1280, 1536, 2560) for instances in places)  # fmt: skip


def main():
    """Print the table; return its rows for pages."""
    first = cold()
    fits(MODEL, CLUSTER, global_batch=512)
    mine, its, plans = beside()
    found = moves()
    table = Table("plans", "time", "beside it")
    for what, seconds, note in (
        (f"plans of {MODEL.name} on {CLUSTER.chips:,} chips, the first of a process", first,
         "at most 1,000 ms"),
        (f"the same for four batches, {plans:,} plans in all", mine,
         f"{its / mine:.1f} x faster than trying all (at least 2)"),
        (f"a move of the planner's slider, the longest of {len(found)}", found[-1],
         f"median {found[len(found) // 2] * 1e3:,.0f} ms (at most 100)"),
    ):  # fmt: skip
        table.row(what, f"{seconds * 1e3:,.0f} ms", note)
    return table.found
