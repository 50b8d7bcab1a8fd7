"""Live training.  Judge: set a trait, read the state; the numbers are those of ``train``."""

import asyncio

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from tests.widgets.page import send
from trainium_edu.training import ARMS, train
from trainium_edu.widgets.live import LiveRun
from trainium_edu.widgets.training import RATES, training_explorer


def test_its_curves_are_those_of_train():
    widget = training_explorer(0.03, epochs=5)
    for name in ARMS:
        run = train(name, learning_rate=0.03, epochs=5, seeds=[0], rounding_seed=0)
        loss, accuracy = zip(*widget.curves[name], strict=True)
        assert np.array_equal(loss, run.loss[:, 0])
        assert np.array_equal(accuracy, run.accuracy[:, 0])


def test_pointing_at_an_epoch_tells_its_numbers():
    """Judge: ``train``'s own numbers of the third epoch."""
    page = training_explorer(0.1, epochs=5).page["scene"]["svg"]
    told = page.partition("<title>epoch 3\n")[2].partition("</title>")[0].split("\n")
    runs = {
        name: train(name, learning_rate=0.1, epochs=5, seeds=[0], rounding_seed=0) for name in ARMS
    }
    assert told == [f"{ARMS[name].short}: loss {run.loss[2, 0]:.3g}, {run.accuracy[2, 0]:.1%}"
                    for name, run in runs.items()]  # fmt: skip


def test_a_change_of_any_control_trains_anew():
    widget = training_explorer(0.1, epochs=5)
    before = widget.curves
    widget.set(rate=RATES.index(0.01))
    assert widget.curves != before
    widget.set(epochs=10)
    assert widget.done == [10] * 4
    widget.set(fp32=False, master=False, stochastic=False)
    assert widget.shown == ["nearest"]
    assert [row["cells"][0] for row in widget.page["table"]["rows"]] == [ARMS["nearest"].short]
    assert widget.done == [10]
    assert not widget.running


def test_what_the_page_cannot_ask_for_is_not_taken():
    widget = training_explorer(0.1, epochs=5)
    before = dict(widget.values)
    for asked in ({"rate": float("nan")}, {"rate": len(RATES)}, {"epochs": 10**9},
                  {"epochs": -4}, {"fp64": True}, {"fp32": 1}):  # fmt: skip
        widget.values = {**widget.values, **asked}
        assert widget.values == before
    widget.set(**dict.fromkeys(ARMS, False))
    assert widget.shown == []
    assert "tick at least one" in widget.summary()
    for message in ({"press": "explode"}, {}, {"press": "stop"}):
        send(widget, message)


def test_it_can_be_stopped_between_two_slices():
    async def scenario():
        widget = training_explorer(0.01, epochs=5)
        a_slice_is_shown = asyncio.Event()
        widget.observe(lambda _change: a_slice_is_shown.set(), "done")
        widget.set(epochs=200)
        await asyncio.wait_for(a_slice_is_shown.wait(), 60)
        assert widget.running
        assert 0 < max(widget.done) < 200
        send(widget, {"press": "stop"})
        reached = widget.done
        assert not widget.running
        await asyncio.wait_for(widget.live.ended(), 60)
        assert not widget.running
        assert widget.done == reached

    asyncio.run(scenario())


def test_a_new_start_ends_the_run_before():
    async def scenario():
        old, shown = iter(range(10**9)), asyncio.Event()
        live = LiveRun(shown.set)
        live.start(old)
        before = asyncio.ensure_future(live.ended())
        await asyncio.wait_for(shown.wait(), 60)
        assert live.running
        live.start(iter(range(3)))
        await asyncio.wait_for(live.ended(), 60)
        assert not live.running
        await asyncio.wait_for(before, 60)
        assert next(old) < 10**9 - 1  # it was left before its end

    asyncio.run(scenario())


def test_a_run_that_fails_is_not_running_for_ever():
    async def scenario():
        def broken():
            yield 1
            raise RuntimeError("on purpose")

        live = LiveRun(lambda: None)
        live.start(broken())
        with pytest.raises(RuntimeError, match="on purpose"):
            await asyncio.wait_for(live.ended(), 60)
        assert not live.running

    asyncio.run(scenario())


def test_the_repr_is_fixed():
    assert repr(training_explorer(0.1, epochs=5)) == repr(training_explorer(0.1, epochs=5))


@for_rows("bad", 0.5, float("nan"), "0.1", None)
def test_a_rate_that_is_not_offered_is_refused(bad):
    raises(ValueError, "the control offers", training_explorer, bad)


@for_rows("bad", 0, 4, 201, 2.5, True, "20")
def test_an_impossible_number_of_epochs_is_refused(bad):
    raises((TypeError, ValueError), "an integer from 5 to 200", training_explorer, 0.1, epochs=bad)


def test_rates_are_ascending_and_span_both_regimes():
    assert list(RATES) == sorted(RATES)
    assert RATES[0] < 0.003 < 0.1 <= RATES[-1]
