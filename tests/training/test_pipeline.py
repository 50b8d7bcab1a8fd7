"""Whether the chip waits.  Judges: closed forms of the rate, and Little's law."""

from itertools import pairwise

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.specs import INSTANCES
from trainium_edu.training.pipeline import input_pipeline

MS = 1e6
KINDS = {
    "chips": {"step_ns": 400 * MS},
    "storage": {"step_ns": 1 * MS, "storage_bytes_per_s": 5e7, "workers": 8},
    "vCPUs": {"step_ns": 1 * MS, "vcpus": 2, "workers": 4, "prefetch": 4},
    "workers": {"step_ns": 1 * MS, "workers": 1, "ranks": 2, "storage_bytes_per_s": 1e12},
}
BASE = {"ranks": 4, "batch": 8, "workers": 2, "prefetch": 2, "bytes_per_sample": 1e5,
        "decode_ns": 5 * MS, "storage_bytes_per_s": 1e9, "steps": 200}  # fmt: skip


def run(**how):
    return input_pipeline(**(BASE | how))


@for_each("name", KINDS)
def test_the_tightest_stage_sets_the_rate_and_littles_law_holds(name):
    """Mean number on their way or ready = rate * mean time from request to use."""
    found = run(**KINDS[name])
    assert found.binds == name
    least = min(found.most_samples_per_s.values())
    assert found.samples_per_s == pytest.approx(least, rel=0.02)
    line = found.timeline
    chips = {s.label: s.start_ns for s in line.on("chips")}
    workers = [s for t in line.tracks if t.startswith("worker") for s in line.on(t)]
    begin = np.array([s.start_ns for s in workers])
    use = np.array([chips[s.label.replace("batch", "step")] for s in workers])
    grid = np.linspace(use[len(use) // 4], np.sort(use)[-len(use) // 4], 20_000)
    present = np.mean(np.searchsorted(np.sort(begin), grid) - np.searchsorted(np.sort(use), grid))
    inside = (begin >= grid[0]) & (begin <= grid[-1])
    rate = inside.sum() / (grid[-1] - grid[0])
    assert present == pytest.approx(rate * np.mean((use - begin)[inside]), rel=0.06)
    how = BASE | KINDS[name]
    line = run(**KINDS[name]).timeline
    for track in line.tracks:
        if track == "ready":
            continue
        spans = line.on(track)
        assert all(b.start_ns >= a.end_ns - 1e-6 for a, b in pairwise(spans))
    held = how["workers"] * how["prefetch"]
    for at in (s.start_ns for s in line.on("ready")):
        assert sum(s.start_ns <= at < s.end_ns for s in line.on("ready")) <= held


def test_what_each_stage_allows_is_its_closed_form_on_the_documented_host():
    most = run(step_ns=10 * MS, vcpus=3).most_samples_per_s
    read = 1e5 / 1e9
    assert most == pytest.approx(
        {"chips": 4 * 8 / 10e-3, "storage": 1 / read, "vCPUs": 3 / 5e-3,
         "workers": 4 * 2 / (read + 5e-3)}
    )  # fmt: skip
    found = input_pipeline(1 * MS, workers=8)
    assert found.most_samples_per_s["vCPUs"] == pytest.approx(128 / 5e-3)
    assert INSTANCES["trn1.32xlarge"].vcpus.value == 128


@for_each("seed", range(30))
def test_no_run_is_faster_than_any_stage_allows(seed):
    rng = np.random.default_rng(seed)
    how = {"ranks": 6, "batch": 3, "workers": 5, "prefetch": 4, "vcpus": 9}
    found = run(**{name: int(rng.integers(1, most)) for name, most in how.items()},
                step_ns=rng.uniform(1, 50) * MS, decode_ns=rng.uniform(0, 9) * MS,
                storage_bytes_per_s=10 ** rng.uniform(6.5, 9))  # fmt: skip
    assert found.samples_per_s <= min(found.most_samples_per_s.values()) * 1.02
    assert (found.wait_ns >= 0).all()


def test_batches_ahead_hide_loading_until_a_stage_is_short_of_time():
    found = run(step_ns=400 * MS)
    read, decode = 8 * 1e5 / 1e9 * 1e9, 8 * 5 * MS
    assert found.wait_ns[0] == pytest.approx(4 * read + decode)  # storage serves four ranks in turn
    assert not found.wait_ns[1:].any()
    how = {"ranks": 1, "workers": 1, "prefetch": 1, "decode_ns": 5 * MS}
    load = 8 * (1e5 / 1e9 * 1e9 + 5 * MS)
    assert run(step_ns=2 * load, **how).steady_wait_ns == 0
    assert run(step_ns=load / 4, **how).steady_wait_ns == pytest.approx(load * 3 / 4)
    slow = {"step_ns": 1 * MS, "workers": 2, "ranks": 1}
    rates = [run(prefetch=p, **slow).samples_per_s for p in (1, 2, 4, 8)]
    assert rates == pytest.approx([rates[0]] * 4, rel=0.02)
    waits = [run(step_ns=5 * MS, ranks=2, workers=w).steady_wait_ns for w in range(1, 17)]
    assert waits[0] > 0
    assert waits[-1] == pytest.approx(0, abs=1)
    assert (np.diff(waits) <= 1).all()
