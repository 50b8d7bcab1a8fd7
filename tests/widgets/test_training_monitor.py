"""The training monitor.  Judges: the steps given, read back from what is sent to the page."""

import json
import time

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from tests.viz.test_step_frames import unpacked
from tests.widgets import monitored
from trainium_edu.training import Job, fit
from trainium_edu.training.parallel.step import step_report
from trainium_edu.widgets import training_monitor as module
from trainium_edu.widgets.training_monitor import training_monitor


def sent(widget):
    """Return loss, points and bits of differing ranks, as the page reads them."""
    bits = np.frombuffer(widget.differ, np.uint8).reshape(-1, -(-widget.ranks // 8))
    points = np.frombuffer(widget.points, np.float32).reshape(-1, 2)
    return np.frombuffer(widget.loss, np.float32), points, np.unpackbits(bits, axis=1)


def test_a_run_that_is_over_is_sent_whole():
    run = monitored.run(60, odd_from=40)
    loss, points, differ = sent(training_monitor(run))
    np.testing.assert_allclose(loss, [step.loss for step in run.steps], rtol=1e-6)
    np.testing.assert_allclose(points, run.accuracy, rtol=1e-6)
    assert differ.shape == (60, 32)
    assert np.argwhere(differ).tolist() == [[step, 13] for step in range(40, 60)]


def test_live_steps_are_sent_now_and_then_and_the_last_one_at_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monitor, messages = training_monitor(steps=1000), []
    monitor.observe(lambda change: messages.append(len(change["new"]) // 4), "loss")
    for step in monitored.steps(1000):
        now[0] += 0.001
        monitor(step)
    assert messages[-1] == 1000
    assert len(messages) <= 1 + 1 / module.EVERY_S + 1
    assert len(sent(monitor)[0]) == 1000


def test_a_run_that_was_stopped_is_sent_to_its_end():
    monitor, run = training_monitor(steps=50), monitored.run(0)
    monitor.begin(run)
    for step in monitored.steps(7):
        monitor(step)
    monitor.end()
    assert len(sent(monitor)[0]) == 7
    assert repr(monitor) == "TrainingMonitor(7 of 50 steps, 32 ranks, all equal)"


def test_a_run_that_is_never_tested_shows_no_accuracy():
    run = fit(Job(ranks=2, batch=8), 1, on_step=(monitor := training_monitor(steps=1)))
    assert not run.accuracy
    assert not monitor.setting["tested"]
    fit(Job(ranks=2, batch=8), 1, on_step=monitor, evaluate_every=1)
    assert monitor.setting["tested"]


def test_accuracies_arrive_while_the_run_goes_on():
    monitor, run = training_monitor(steps=3), monitored.run(0)
    run.accuracy = []
    monitor.begin(run)
    for step in monitored.steps(3):
        run.accuracy.append((step.number + 1, 0.5))
        monitor(step)
    assert sent(monitor)[1].tolist() == [[1, 0.5], [2, 0.5], [3, 0.5]]


def test_another_run_begins_with_nothing():
    monitor = training_monitor(monitored.run(20))
    monitor.begin(monitored.run(0, ranks=8))
    loss, *_ = sent(monitor)
    assert (len(loss), monitor.ranks) == (0, 8)


def test_runs_before_stay_and_each_is_named_by_what_tells_it_from_the_others():
    monitor = training_monitor(passes=3)
    runs = [fit(Job(ranks=n, lr=rate, batch=32), 2, on_step=monitor, evaluate_every=1)
            for n, rate in ((2, 0.1), (8, 0.1), (8, 0.4))]  # fmt: skip
    assert [r["name"] for r in monitor.earlier] == ["2 ranks, rate 0.1", "8 ranks, rate 0.1"]
    assert monitor.setting["name"] == "8 ranks, rate 0.4"
    images = len(runs[0].trainer.labels)
    planned = [r["steps"] for r in (*monitor.earlier, monitor.setting)]
    assert planned == [3 * -(-images // run.job.global_batch) for run in runs]
    for kept, run in zip(monitor.earlier, runs, strict=False):
        assert kept["loss"] == [[i + 1, loss] for i, loss in enumerate(run.loss)]
        assert [tuple(p) for p in kept["points"]] == run.accuracy
    json.dumps(monitor.earlier, allow_nan=False)
    for _ in range(6):
        fit(Job(ranks=2, batch=8), 1, on_step=monitor)
    assert len(monitor.earlier) == 5


def test_a_step_costs_next_to_nothing():
    monitor = training_monitor(steps=10_000)
    steps = monitored.steps(2000)
    begin = time.perf_counter()
    for step in steps:
        monitor(step)
    assert (time.perf_counter() - begin) / len(steps) < 1e-3


def test_the_repr_has_nothing_that_changes_by_machine():
    assert repr(training_monitor()) == "TrainingMonitor(0 of 200 steps, 32 ranks)"
    told = repr(training_monitor(monitored.run(60, odd_from=40)))
    assert told == "TrainingMonitor(60 of 60 steps, 32 ranks, not all equal from step 41 on)"


def test_what_is_sent_of_one_step_and_of_a_run_is_small():
    widget = monitored.monitor(count=200)
    assert len(widget.film) < 40_000
    assert len(widget.loss) + len(widget.points) + len(widget.differ) < 3000


@for_rows("bad", 0, -1, 2.5, True, "200")
def test_impossible_numbers_are_refused(bad):
    raises((TypeError, ValueError), "must be an integer from 1 to", training_monitor, steps=bad)


def test_fit_lets_it_watch_and_tells_it_how_the_run_ended():
    monitor = training_monitor(steps=6)
    run = fit(Job(ranks=2, batch=8), 6, on_step=monitor, evaluate_every=3)
    loss, points, differ = sent(monitor)
    np.testing.assert_allclose(loss, run.loss, rtol=1e-6)
    np.testing.assert_allclose(points, run.accuracy, rtol=1e-6)
    assert monitor.ranks == 2
    assert not differ.any()

    def stop(step):
        if step.number == 2:
            raise KeyboardInterrupt

    raises(KeyboardInterrupt, "", fit, Job(ranks=2, batch=8), 6, on_step=[monitor, stop])
    assert len(sent(monitor)[0]) == 3


def test_a_real_run_brings_its_step_with_the_sums_bills():
    run = fit(Job(ranks=32, batch=2, bucket_bytes=60_000), 1)
    found = unpacked(training_monitor(run).film)
    trainer = run.trainer
    sums = [n for n in trainer.device.executable.final.nodes if n.operation == "all_reduce"]
    assert len(found["bills"]) == len(sums) == (found["on_track"] == 1).sum() > 1
    nodes = sorted(sums, key=lambda n: trainer.links.account(n).link_bytes.sum())
    bytes_ = sorted(found[f"bytes_{k}"].sum() for k in set(found["bills"]))
    assert bytes_[-1] == pytest.approx(trainer.links.account(nodes[-1]).link_bytes.sum(), rel=1e-6)
    for overlap, line in ((True, "on"), (False, "off")):
        report = step_report(trainer.device.executable, trainer.links, 64, overlap=overlap)
        assert dict(found["shares"][not overlap]) == report.engines
        assert found[f"{line}_ns"].max() == pytest.approx(report.step_ns)
        alone = np.ptp(found[f"{line}_exposed"].reshape(-1, 2), axis=1).sum()
        assert alone == pytest.approx(report.exposed_ns)


@for_rows("ranks", 1, 2)
def test_few_ranks_have_a_step_without_a_machine(ranks):
    monitor = training_monitor(fit(Job(ranks=ranks, batch=2), 1))
    assert unpacked(monitor.film)["chips"] == 0
    assert len(unpacked(monitor.film)["on_ns"])
