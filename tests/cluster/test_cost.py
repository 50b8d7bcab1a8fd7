"""Bills add up, ranges hold, prices have a day or say so.

Judge: plain arithmetic on the published prices, and 10 000 samples of the ranges.
"""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.cluster import PARTS, Cluster, Plan, against_p4d, bill, price, step_time, waste
from trainium_edu.cluster.cost import USEFUL, Input
from trainium_edu.specs import CLAIMS, Kind

FOUR = Cluster("trn1.32xlarge", 4)


# --- prices ---------------------------------------------------------------------------------------


def test_a_price_has_a_day_or_says_that_nobody_knows_it_and_spot_is_assumed():
    assert price("trn1.32xlarge", "reserved").when == "2025-10-17"
    for instance in ("trn1.32xlarge", "p3dn.24xlarge"):
        assert "day not known" in price(instance).when
        assert "day not known" in price(instance).fact.note
    assert price("p3dn.24xlarge").fact.kind is Kind.ASSUMED
    spot = price("trn1.32xlarge", "spot", spot_discount=0.6)
    assert spot.usd_per_hour == pytest.approx(21.50 * 0.4)
    assert spot.fact.kind is Kind.ASSUMED


# --- bills ----------------------------------------------------------------------------------------


def test_a_bill_is_instances_times_hours_times_price_over_its_steps():
    assert bill(1.5, 24_000, FOUR).usd == pytest.approx(4 * 10 * 21.50)
    assert bill(2.0, 1800, FOUR).usd_per_step == pytest.approx(86 / 1800)


def test_the_rows_add_up_and_name_what_was_wasted():
    found = bill(1.0, 36_000, FOUR, wasted={"bubbles": 0.2, "communication": 0.1}, goodput=0.8,
                 checkpoint_bytes=2e12, checkpoints_kept=3)  # fmt: skip
    running = 4 * 10 * 21.50
    rows = {row.what: row.usd for row in found.rows}
    assert rows == pytest.approx({
        "useful work": 0.7 * running, "bubbles": 0.2 * running, "communication": 0.1 * running,
        "failures": 0.25 * running, "checkpoints": 2000 * 3 * 12.5 / 730 * 0.023,
    })  # fmt: skip
    assert found.usd == pytest.approx(sum(rows.values()))
    assert found.wasted == pytest.approx(0.55 * running)
    assert found.hours == pytest.approx(12.5)


def test_the_range_of_a_bill_is_that_of_10_000_samples():
    ranges = {"step_s": (0.9, 1.0, 1.3), "goodput": (0.8, 0.9, 1.0), "usd_per_hour": (20, 21, 25)}
    found = bill(
        ranges["step_s"], 3600, FOUR, goodput=ranges["goodput"], usd_per_hour=ranges["usd_per_hour"]
    )
    rng = np.random.default_rng(0)
    step, good, usd = (rng.uniform(low, high, 10_000) for low, _, high in ranges.values())
    sampled = 4 * step * usd / good
    assert found.low <= sampled.min() < sampled.max() <= found.high
    assert sampled.min() < found.low * 1.03
    assert sampled.max() > found.high * 0.97
    assert found.low == pytest.approx(4 * 0.9 * 20)
    assert found.high == pytest.approx(4 * 1.3 * 25 / 0.8)


def test_the_tornado_begins_with_the_input_that_moves_the_bill_most():
    found = bill((0.9, 1.0, 1.3), 3600, FOUR, goodput=(0.85, 0.9, 1.0))
    first, second = found.tornado[:2]
    assert (first.name, second.name) == ("step time", "goodput")
    assert (first.low, first.high) == pytest.approx((86 * 0.9 / 0.9, 86 * 1.3 / 0.9))
    assert (second.low, second.high) == pytest.approx((86 / 0.85, 86 / 1.0))  # less goodput, dearer
    assert (found.low, found.high) == pytest.approx((86 * 0.9 / 1.0, 86 * 1.3 / 0.85))
    assert "step time moves it most: $86.00 to $124.22" in found.uncertain
    long = bill((0.9, 1.0, 1.3), 10**9, FOUR).uncertain
    assert "$21,500,000.00 to $31,055,555.56" in long  # no exponents


def test_a_row_is_as_sure_as_its_least_sure_factor():
    predicted = step_time("llama2-7b", Plan(FOUR, tensor=8))
    found = bill(predicted, 3600, FOUR, goodput=0.8)
    assert found.shares == pytest.approx({Kind.DERIVED: 0.8, Kind.ASSUMED: 0.2})
    ends = [86 * ns / 1e9 / 0.8 for ns in (predicted.low_ns, predicted.high_ns)]
    assert (found.low, found.high) == pytest.approx(ends)
    measured = bill(CLAIMS.sagemaker_seconds_trn1, 1, Cluster("trn1.32xlarge"), kind="sagemaker")
    assert measured.shares == {Kind.DOCUMENTED: 1.0}
    recalled = bill(CLAIMS.sagemaker_seconds_trn1, 1, Cluster("trn1n.32xlarge"))
    assert recalled.shares == {Kind.ASSUMED: 1.0}


def test_waste_prices_the_parts_of_a_step():
    parts = {"compute": 6e8, "all-reduce": 3e8, "bubble": 1e8}
    found = waste(parts, FOUR, steps=3600, useful=("compute",))
    assert {row.what: row.usd for row in found.rows} == pytest.approx(
        {"useful work": 0.6 * 86, "all-reduce": 0.3 * 86, "bubble": 0.1 * 86}
    )
    both = waste(parts, FOUR, steps=3600, useful=("compute", "all-reduce"))
    assert both.wasted == pytest.approx(0.1 * 86)


def test_waste_of_a_predicted_step_is_its_time_at_its_price():
    time = step_time("gpt3-175b", Plan(Cluster(instances=16), tensor=32, pipeline=16))
    found = waste(time, Cluster(instances=16), steps=10)
    assert set(USEFUL) < set(PARTS)
    assert found.usd == pytest.approx(16 * 21.5 * time.step_ns / 1e9 * 10 / 3600)
    bubble = next(row.usd for row in found.rows if row.what == "pipeline bubble")
    assert bubble / found.usd == pytest.approx(time.parts["pipeline bubble"] / time.step_ns)
    assert found.wasted == pytest.approx(
        found.usd * sum(ns for n, ns in time.parts.items() if n not in USEFUL) / time.step_ns
    )


# --- comparisons ----------------------------------------------------------------------------------


def test_p4d_against_your_model_is_a_range():
    found = against_p4d(1e18, 40.0, Cluster("trn1.32xlarge", 16))
    fast, _, slow = (1e18 / (16 * 2.496e15 * share) for share in (0.52, 0.475, 0.43))
    assert found.p4d_step_s[0] == pytest.approx(fast)
    assert found.p4d_step_s[2] == pytest.approx(slow)
    ratio = 21.50 / 32.7726
    assert found.low.cost_reduction == pytest.approx(1 - ratio * 40 / fast)
    assert found.high.cost_reduction == pytest.approx(1 - ratio * 40 / slow)
    assert found.by_bert.cost_reduction == pytest.approx(1 - ratio * 5.44 / 6.64)


@for_rows("priced", bill, lambda step, n, at: waste(step, at, steps=n))
def test_a_step_predicted_on_another_cluster_is_not_billed(priced):
    """It would be billed for instances that it never ran on."""
    step = step_time("gpt3-6.7b", Plan(Cluster(), tensor=8))
    assert priced(step, 1000, Cluster()).usd > 0
    with pytest.raises(ValueError, match=r"predicted on 1 x trn1\.32x.* for 4 x trn1\.32x.*"):
        priced(step, 1000, FOUR)


def test_at_the_break_even_share_both_cost_the_same():
    share = against_p4d(1e18, 200.0, FOUR).break_even
    again = against_p4d(1e18, 200.0, FOUR, efficiency=share)
    assert 0.5 < share < 1
    assert again.used.cost_reduction == pytest.approx(0)


def test_an_input_writes_its_range_and_where_the_ends_come_from():
    given = Input("speed", 1, 2, 3, "", None, "slow", "fast")
    assert str(given) == "speed: no fact, 1 (slow) to 3 (fast)"
