"""Overhead, bills and checkpoints, without a browser.  Judges: the models of ``cluster``."""

import pytest

from tests.for_each import for_each, for_rows, raises
from tests.widgets.page import press, said, send
from trainium_edu.cluster import claims, failures
from trainium_edu.cluster.work import work
from trainium_edu.specs import FAILURES
from trainium_edu.widgets import journal
from trainium_edu.widgets.cluster_cost import bill, checkpoint_interval, court, hearing
from trainium_edu.widgets.prediction import Prediction


@for_rows("price", "on-demand", "reserved", "sagemaker")
def test_the_bill_is_the_days_times_the_price(price):
    sketch = bill()
    sketch.set(price=price, goodput=100)
    text = said(sketch)
    days = float(text.split(" days")[0].split("**")[1])
    usd = 64 * {"on-demand": 21.5, "reserved": 8.197, "sagemaker": 24.725}[price] * 24 * days
    shown = float(text.split("**$")[1].split(" ")[0]) * (1e6 if "million" in text else 1e3)
    assert shown == pytest.approx(usd, rel=0.01)  # both to three digits, and checkpoints
    assert "what moves it most: **step time**" in text


def test_failures_are_the_uncertain_part_of_the_bill():
    sketch = bill()
    sketch.set(goodput=50)
    assert "(faded: failures, checkpoints)" in said(sketch)
    (share,) = [w for w in said(sketch).split(". ") if "assumed inputs" in w]
    assert float(share.split(" %")[0]) == pytest.approx(50, abs=0.5)


def test_the_button_goes_to_dalys_interval_and_nothing_costs_less():
    sketch = checkpoint_interval()
    mtbf = failures.cluster_mtbf_s(float(FAILURES.llama3.instance_mtbf_hours), 128)
    nbytes = failures.checkpoint_bytes(work("gpt3-175b").parameters)
    written = failures.checkpoint(nbytes, "fsx-1000", 128, tebibytes=100)
    assert f"takes {written.stall_s:.3g} s" in said(sketch)
    press(sketch, "best")
    daly = failures.daly_interval_s(mtbf, written.stall_s)
    again = float(FAILURES.restart_begin_s) + written.read_s
    least = 1 - failures.goodput(daly, mtbf, written.stall_s, again)
    assert f"a restart {again / 60:.3g} min" in said(sketch)
    assert f"**{100 * least:.3g} %** of the time" in said(sketch)
    assert f"Daly: {daly / 60:.3g} min, {100 * least:.3g} %" in said(sketch)
    for place in (0, 100, 199):
        sketch.set(interval=place)
        assert f"**{100 * least:.3g} %**" not in said(sketch)


def test_the_verdict_turns_as_an_input_moves():
    sketch = court("petaflops")
    assert "**depends**" in said(sketch)
    assert "the peak of a chip at 202 TFLOP/s or more" in said(sketch)  # 3.23e15 / 16
    for place, verdict in ((1, "conflicting"), (101, "consistent")):
        sketch.set(chip_flops=place)
        assert f"**{verdict}**" in said(sketch)
        assert verdict.upper() in [s[3] for s in sketch.scene.shapes if s[0] == "text"]
    press(sketch, "start")
    assert "**depends**" in said(sketch)
    assert sketch.page["outputs"]["chip_flops"].startswith("184 TFLOP/s (")


def test_what_nobody_published_is_untestable_until_the_learner_says_it():
    sketch = court("stochastic_rounding")
    assert "**untestable**" in said(sketch)
    assert "nobody published the speed-up" in said(sketch)
    sketch.set(speed=33)  # 0.5 + 0.32 * 2.5 = 1.3
    assert "**consistent**" in said(sketch)


@for_each("key", list(claims.COURT))
def test_every_claim_has_its_picture_and_its_verdict(key):
    sketch = court(key)
    assert f"**{claims.judge(key).verdict}**" in said(sketch)
    for control in sketch.controls:
        for place in (1, 101):
            sketch.set(**{control["name"]: place})
            assert said(sketch)
    assert str(claims.judge(key).verdict) in repr(sketch)


def test_seals_open_after_the_number_which_is_then_final_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    options = ["consistent", "depends"]
    verdict = Prediction("11b/of-this-test", "choice", "Your verdict?", options=options)
    sketch = hearing("processors", verdict)
    raises(ValueError, "cores does not take True", sketch.set, cores=True)
    assert "**Drag your number first**" in said(sketch)
    for number in (1, 40):
        sketch.set(number=number)
    send(verdict, {"type": "commit", "value": "depends"})
    assert (verdict.committed, verdict.status) == (False, "Drag your number and open a seal first.")
    sketch.set(cores=True)
    assert sketch.page["outputs"]["cores"] == "2 NeuronCores (nki-trn1-arch, 2026-07-17)"
    raises(ValueError, "number does not take 41", sketch.set, number=41)
    sketch.set(formula=True)
    (event,) = journal.read("predictions")
    assert (event["key"], event["kind"]) == ("11b/processors-number", "number")
    assert claims.judge("processors").claim.spell(event["value"]) in said(sketch)
    send(verdict, {"type": "commit", "value": "depends"})
    assert verdict.committed


def test_each_seal_narrows_what_can_be_and_pushes_the_needle_along():
    """By hand: 2 x 8, each known to within half as much again until it is opened."""
    sketch = hearing("processors")
    steps = [("number", "7.11 processors to 36"), ("cores", "10.7 processors to 24"),
             ("processors", "16 processors")]  # fmt: skip
    for opened, between in steps:
        sketch.set(**{opened: 1 if opened == "number" else True})
        assert f"What is open allows **{between}" in said(sketch)
        least = between.split(" to ")[0].removesuffix(" processors")
        words = [shape[3] for shape in sketch.scene.shapes if shape[0] == "text"]
        assert {f"needle: {least} processors", "you: 7.11 processors"} <= set(words)


def test_sources_that_do_not_agree_widen_it_again():
    sketch = hearing("petaflops")
    sketch.set(number=50)
    sketch.set(chips=True, chip_flops=True)
    assert "allows **3.04 PFLOP/s**" in said(sketch)  # 16 x 190
    sketch.set(chip_flops_range=True)
    assert "allows **2.94 PFLOP/s to 3.36 PFLOP/s**" in said(sketch)  # 16 x 183.5 and 210


@for_each("key", list(claims.COURT))
def test_every_hearing_ends_at_what_the_court_computes(key):
    sketch, ruling = hearing(key), claims.judge(key)
    sketch.set(number=50)
    sketch.set(**{c["name"]: True for c in sketch.controls[1:]})
    assert "all is open" in [s[3] for s in sketch.scene.shapes if s[0] == "text"][1]
    if ruling.value == ruling.value:
        assert f"**{ruling.claim.spell(ruling.low)}" in said(sketch)
