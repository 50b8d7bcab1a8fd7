"""Overhead, bills and checkpoints, without a browser.  Judges: the models of ``cluster``."""

import pytest

from tests.for_each import for_each
from tests.widgets.page import press, said
from trainium_edu.cluster import claims, failures
from trainium_edu.cluster.scaling import KEYNOTE, overhead
from trainium_edu.cluster.work import work
from trainium_edu.specs import CLAIMS, FAILURES
from trainium_edu.widgets.cluster_cost import bill, checkpoint_interval, court, overhead_bars


def test_the_readings_stand_beside_the_bars_as_drawn():
    sketch = overhead_bars()
    assert "as drawn: **50, 14, 7 %**" in said(sketch)
    assert "work per instance stays: **50, 38.4, 17.4 %**" in said(sketch)
    assert "one batch shared out: **50, 17.2, 4.35 %**" in said(sketch)
    sketch.set(share=30)
    shares = [100 * bar.share for bar in overhead(0.3, KEYNOTE, "strong")]
    assert f"shared out: **{', '.join(f'{s:.3g}' for s in shares)} %**" in said(sketch)
    assert dict(CLAIMS.communication_share.value)["p4d"] == 0.14


def test_half_the_network_makes_the_last_bar_longer():
    sketch = overhead_bars()
    sketch.set(network="trn1.32xlarge")
    assert "work per instance stays: **50, 38.4, 29.6 %**" in said(sketch)


@pytest.mark.parametrize("price", ["on-demand", "reserved", "sagemaker"])
def test_the_bill_is_the_days_times_the_price(price):
    sketch = bill()
    sketch.set(price=price, goodput=100)
    text = said(sketch)
    days = float(text.split(" days")[0].split("**")[1])
    hourly = {"on-demand": 21.5, "reserved": 8.197, "sagemaker": 24.725}[price]
    usd = 64 * hourly * 24 * days
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


def test_every_store_and_every_size_has_its_interval():
    sketch = checkpoint_interval()
    for control in sketch.controls:
        if control["kind"] == "choice":
            for option, _ in control["options"]:
                sketch.set(**{control["name"]: option})
                for power in (0, 12):
                    sketch.set(instances=power)
                    press(sketch, "best")
                    assert "Daly" in said(sketch)


def test_the_verdict_turns_as_an_input_moves():
    sketch = court("petaflops")
    assert "**only under** chip_flops at least 201.9 TFLOP/s" in said(sketch)
    for place, verdict in ((1, "conflicting"), (101, "consistent")):
        sketch.set(chip_flops=place)
        assert f"**{verdict}**" in said(sketch)
        shapes = sketch.page["scene"]["shapes"]
        assert verdict.upper() in [s[3] for s in shapes if s[0] == "text"]
    press(sketch, "start")
    assert "**only under**" in said(sketch)
    assert sketch.page["outputs"]["chip_flops"] == "183.5 TFLOP/s to 210 TFLOP/s"


def test_what_nobody_published_is_untestable_until_the_learner_says_it():
    sketch = court("stochastic_rounding")
    assert "**untestable**" in said(sketch)
    assert sketch.page["outputs"]["speed"] == "nobody says"
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
