"""Headlines and their verdicts.

Judges: plain arithmetic on the published numbers, to the digits that were worked out beforehand by
hand; 10 000 samples of every box of inputs for the verdicts, and 2 000 of one input for the
conditions; ``fabric`` and networkx for the hypercube.
"""

import networkx as nx
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from tests.texts import rows_beside
from trainium_edu import cluster, fabric
from trainium_edu.cluster import COURT, KEYNOTE, Verdict, docket, judge, needed, overturned
from trainium_edu.specs import CLAIMS, SOURCES

ROWS = rows_beside(__file__, "claims.toml")

CONSISTENT, CONFLICTING, DEPENDS, UNTESTABLE = (
    Verdict(word) for word in ("consistent", "conflicting", "depends", "untestable")
)
KEYS = list(COURT)


# --- the arithmetic (its digits are in test_digits.py) --------------------------------------------


@for_each("key, name, moved, expected, digits", ROWS["needed"])
def test_what_a_headline_needs(key, name, moved, expected, digits):
    found = needed(key, name, **moved)
    assert round(found, digits) == pytest.approx(expected, rel=1e-12)
    at = judge(key, **{**moved, name: found}).value
    assert at == pytest.approx(COURT[key].claimed, rel=1e-9)


def test_the_keynote_rows_are_those_of_the_scaling_model():
    """Judge: ``scaling.py``, which computes bars and counts from peaks and networks by itself."""
    p3dn, p4d, trn1 = KEYNOTE
    for shared, kind in ((0, "weak"), (1, "strong")):
        bars = cluster.overhead(0.5, KEYNOTE, kind)
        for key, bar in (("overhead_p4d", bars[1]), ("overhead_trn1", bars[2])):
            assert judge(key, work_shared_out=shared).value == pytest.approx(bar.share)
    for key, each in (("p3dn", p3dn), ("p4d", p4d)):
        assert needed(f"two_weeks_{key}", "utilisation") == pytest.approx(cluster.utilisation(each))
    at_launch = needed("two_weeks_trn1", "utilisation", trn1_flops=trn1.peak_flops)
    assert at_launch == pytest.approx(cluster.utilisation(trn1))
    as_many = 200 * p4d.peak_flops * 0.86 / (p3dn.peak_flops * 0.5)
    assert judge("p3dn_like_p4d").value == pytest.approx(as_many)


def test_a_torus_of_16_chips_is_a_hypercube_and_one_of_64_is_not():
    cube, torus = nx.hypercube_graph(4), fabric.torus(4, 4).to_networkx().to_undirected()
    assert nx.is_isomorphic(nx.Graph(torus), cube)
    assert COURT["hypercube_is_torus"].verdict is CONSISTENT
    assert fabric.torus(8, 8).links / fabric.hypercube(6).links == pytest.approx(4 / 6)
    wrong = judge("hypercube_is_torus", chips=64)
    assert (wrong.verdict, wrong.value) == (CONFLICTING, pytest.approx(4 / 6))


# --- the verdicts ---------------------------------------------------------------------------------


@for_each("verdict, keys", ROWS["verdicts"].items())
def test_every_headline_comes_to_its_verdict(verdict, keys):
    assert {key for key in KEYS if COURT[key].verdict is Verdict(verdict)} == set(keys.split())


def _sampled(claim, n=10_000):
    """Return samples of a claim's box, its ends often among them, and what the formula gives."""
    rng = np.random.default_rng(len(claim.key))
    at = []
    for each in claim.inputs:
        inside = rng.uniform(each.low, each.high, n)
        end = rng.choice([each.low, each.high], n)
        at.append(np.where(rng.random(n) < 0.3, end, inside))
    return at, np.broadcast_to(claim.formula(*at), n)


@for_each("key", [key for key in KEYS if COURT[key].verdict is not UNTESTABLE])
def test_the_verdict_is_what_10_000_samples_show(key):
    claim, ruling = COURT[key], COURT[key].ruling
    _, values = _sampled(claim)
    slip = 1e-9 * abs(claim.claimed)
    right = (values >= claim.allowed[0] - slip) & (values <= claim.allowed[1] + slip)
    seen = CONSISTENT if right.all() else DEPENDS if right.any() else CONFLICTING
    assert ruling.verdict is seen
    span = ruling.high - ruling.low
    slip += 1e-5 * span  # a kink lies between two points of any grid
    assert ruling.low - slip <= values.min() <= values.max() <= ruling.high + slip
    assert values.min() <= ruling.low + 0.05 * span + slip
    assert values.max() >= ruling.high - 0.05 * span - slip


@for_each("key", [key for key in KEYS if COURT[key].ruling.conditions])
def test_a_condition_is_where_2_000_samples_of_its_input_are_right(key):
    claim, ruling = COURT[key], COURT[key].ruling
    for name in {c.input.name for c in ruling.conditions}:
        moved = next(i for i in claim.inputs if i.name == name)
        xs = np.linspace(moved.low, moved.high, 2_000)
        values = claim.formula(*(xs if i is moved else i.used for i in claim.inputs))
        right = (values >= claim.allowed[0]) & (values <= claim.allowed[1])
        spans = [(c.low, c.high) for c in ruling.conditions if c.input is moved]
        said = np.any([(xs >= low) & (xs <= high) for low, high in spans], axis=0)
        assert 0 < right.sum() < 2_000 or ruling.verdict is UNTESTABLE
        assert np.count_nonzero(said != right) <= 1


def test_where_no_input_alone_turns_it_several_do_together():
    ruling = COURT["trn1_like_p4d"].ruling
    assert not ruling.conditions
    values = {i.name: v for i, v in ruling.together}
    assert values == {"p4d_share": 0.145, "trn1_flops": 3360e12, "trn1_share": 0.065}
    assert judge("trn1_like_p4d", **values).verdict is CONSISTENT


def test_no_verdict_is_typed():
    assert not any(word in repr(COURT[key].also) for key in KEYS for word in Verdict)
    assert not {"verdict", "ruling"} & set(type(COURT["petaflops"]).__dataclass_fields__)


def test_1_4_needs_more_than_2_5_leaves_so_no_peak_gives_both():
    (least,) = COURT["bf16_over_p4d"].ruling.conditions
    (most,) = COURT["tf32_over_p4d"].ruling.conditions
    assert least.low == pytest.approx(1.33 * 2496e12)
    assert most.high == pytest.approx(2.625 * 1248e12)
    assert least.low > most.high


# --- moving inputs --------------------------------------------------------------------------------


def test_moving_an_input_turns_the_verdict_and_makes_what_nobody_has_testable():
    assert judge("petaflops", chip_flops=210e12).verdict is CONSISTENT
    assert judge("petaflops", chip_flops=190e12).verdict is CONFLICTING
    assert judge("petaflops", chip_flops=(190e12, 200e12, 210e12)).verdict is DEPENDS
    found = judge("two_weeks_trn1", trn1_flops=3360e12)
    assert found.condition == "utilisation at least 0.5943 of the peak"
    assert judge("stochastic_rounding", speed=1.3).verdict is CONSISTENT
    assert judge("stochastic_rounding", speed=1.1).verdict is CONFLICTING
    assert judge("cheaper_by", speed=CLAIMS.sagemaker_rate_ratio).verdict is CONFLICTING
    assert judge("inf2_better", speed=(0.7, 0.8, 0.9)).verdict is DEPENDS
    assert judge("sagemaker_cost_trn1", slack=0.001).verdict is CONSISTENT
    assert judge("gpt3_over_bert", slack=0.02).verdict is CONFLICTING
    assert judge("bf16_over_p4d", slack=0.2).verdict is CONSISTENT


def test_few_verdicts_depend_on_the_slack_from_1_to_10_per_cent():
    turned = {
        key
        for key in KEYS
        for slack in (0.01, 0.03, 0.08, 0.1)
        if COURT[key].slack and judge(key, slack=slack).verdict is not COURT[key].verdict
    }
    assert turned == {"bf16_over_p4d", "gpt3_over_bert", "sagemaker_cheaper", "tf32_over_p4d",
                      "trn1_like_p4d"}  # fmt: skip


def test_margin_is_positive_inside_what_is_allowed_and_negative_outside():
    assert judge("gpt3_over_bert").margin == pytest.approx((525 - 175e9 / 340e6) / 500)
    margin = (24.725 * 6033 / 3600 - 41.465) / 41.47
    assert judge("sagemaker_cost_trn1").margin == pytest.approx(margin)
    for key in KEYS:
        ruling = COURT[key].ruling
        if ruling.verdict is not UNTESTABLE:
            assert ruling.holds == (ruling.margin >= 0)


def test_evidence_has_every_input_its_source_and_the_number():
    for key in KEYS:
        claim, text = COURT[key], str(judge(key))
        assert claim.source in SOURCES
        assert claim.when == SOURCES[claim.source].date
        for each in claim.inputs:
            assert each.fact is None or each.fact.source in text
            assert each.name in text
    assert any("41.435 USD" in line for line in judge("sagemaker_cost_trn1").evidence)
    assert any("6038.1 s" in line for line in judge("sagemaker_cost_trn1").evidence)


def test_the_docket_shows_all_and_counts_them():
    text = str(docket())
    assert all(f"[{key}]" in text for key in KEYS)
    assert sum(docket().counts.values()) == len(docket()) == len(KEYS) >= 12
    assert min(docket().counts.values()) > 0


# --- overturning ----------------------------------------------------------------------------------


@for_each("key, inputs, turned", ROWS["overturned"])
def test_inputs_inside_their_ranges_overturn_or_do_not(key, inputs, turned):
    assert overturned(key, inputs) is turned


def test_what_all_samples_agree_on_cannot_be_overturned():
    for key in KEYS:
        claim = COURT[key]
        if claim.verdict in (CONSISTENT, CONFLICTING):
            at, _ = _sampled(claim, 5)
            for values in zip(*at, strict=True):
                ranged = {
                    i.name: v for i, v in zip(claim.inputs, values, strict=True) if i.is_range
                }
                assert not overturned(key, ranged)


@for_each("of", [COURT["petaflops"], COURT["petaflops"].inputs[0]], ids=["claim", "input"])
@for_rows("value", 10**400, "3", np.ma.masked, float("nan"))
def test_what_is_no_number_is_not_written(of, value):
    raises((TypeError, ValueError), r"value is .*; it must be a finite number", of.written, value)
