"""Every digit of the sources' numbers and of the arithmetic on them, in one table.

Judge: the printed numbers themselves, copied from the sources (launch post, keynote report, managed
service's table, documentation's editions) and from divisions that a reader can redo.
"""

from tests.for_each import for_each, for_rows
from trainium_edu.cluster import (
    COURT,
    KEYNOTE,
    Generation,
    Verdict,
    days,
    judge,
    needed,
    overhead,
    price,
    utilisation,
)
from trainium_edu.specs import CLAIMS, INSTANCES, NEURONCORE_V2, PRICES, TRN1, ULTRACLUSTER

P3DN, P4D, LAUNCH = KEYNOTE
TODAY = Generation("trn1n.32xlarge", 130, 3040e12, 1600e9)
LARGE, SMALL = INSTANCES["trn1.32xlarge"], INSTANCES["trn1.2xlarge"]
ON_DEMAND = {
    "trn1.2xlarge": 1.34, "trn1.32xlarge": 21.50, "trn1n.32xlarge": 24.78,
    "p4d.24xlarge": 32.7726, "p3dn.24xlarge": 31.212, "inf2.xlarge": 0.7582,
    "inf2.8xlarge": 1.9679, "inf2.24xlarge": 6.4906, "inf2.48xlarge": 12.9813,
}  # fmt: skip
RESERVED = {
    "trn1.2xlarge": 0.512, "trn1.32xlarge": 8.197, "inf2.xlarge": 0.328, "inf2.8xlarge": 0.850,
    "inf2.24xlarge": 2.804, "inf2.48xlarge": 5.608,
}  # fmt: skip


@for_rows("kind, published",
    ("on-demand", ON_DEMAND), ("reserved", RESERVED),
     ("sagemaker", {"trn1.32xlarge": 24.725, "p4d.24xlarge": 37.69}),
)  # fmt: skip
def test_every_published_price(kind, published):
    assert {name: price(name, kind).usd_per_hour for name in published} == published


def equal_efficiency(base, base_share, other, other_share):
    """Return how many of another instance do a base's work, less what communication takes."""
    useful = base.instances * base.peak_flops * (1 - base_share)
    return useful / (other.peak_flops * (1 - other_share))


def _claim(name):
    return lambda: float(getattr(CLAIMS, name))


def _peaks(kind):
    return lambda: "/".join(
        f"{float(getattr(CLAIMS, f'{kind}_over_p4d_with_{peak}')):.2f}"
        for peak in ("210", "190", "184")
    )


DIGITS = [
    ("the exact price of a small one", lambda: price("trn1.2xlarge").hourly.high, "{}", "1.34375"),
    ("managed over on demand", lambda: price("trn1.32xlarge").usd_per_hour * 1.15, "{:.3f}",
     "24.725"),
    ("the same of P4d", lambda: price("p4d.24xlarge", "sagemaker").hourly.low, "{:.3f}", "37.688"),
    ("reserved over on demand", lambda: float(PRICES["trn1.32xlarge"].reserved_over_on_demand),
     "{:.1%}", "38.1%"),
    ("large over small, reserved", lambda: float(PRICES["trn1.32xlarge"].reserved_over_2xlarge),
     "{:.2f}", "16.01"),
    ("BF16 over P4d", _peaks("bf16"), "{}", "1.35/1.22/1.18"),
    ("TF32 over P4d", _peaks("tf32"), "{}", "2.69/2.44/2.35"),
    ("FP32 over P4d", _peaks("fp32"), "{}", "5.38/4.87/4.71"),
    ("P4d's peak", lambda: P4D.peak_flops / 1e12, "{:.0f}", "2496"),
    ("its peak in TF32", lambda: float(INSTANCES["p4d.24xlarge"].peak_flops_tf32) / 1e12, "{:.0f}",
     "1248"),
    ("its peak in FP32", lambda: float(INSTANCES["p4d.24xlarge"].peak_flops_fp32) / 1e12, "{:.0f}",
     "156"),
    ("PFLOPS as announced", lambda: float(LARGE.peak_flops_announced) / 1e15, "{:.1f}", "3.4"),
    ("PFLOPS at launch", lambda: judge("petaflops", chip_flops=210e12).value / 1e15, "{:.2f}",
     "3.36"),
    ("PFLOPS today", lambda: judge("petaflops").value / 1e15, "{:.2f}", "3.04"),
    ("network over P4d", lambda: judge("network_over_p4d").value, "{:g}", "2"),
    ("Trn1n's", _claim("network_over_p4d_trn1n"), "{:g}", "4"),
    ("a small one's network at launch", lambda: float(SMALL.network_bits_per_s_launch) / 1e9,
     "{:g}", "12.5"),
    ("and later", lambda: float(SMALL.network_bits_per_s) / 1e9, "{:g}", "25"),
    ("memory over P4d", lambda: judge("memory_over_p4d").value, "{:.3f}", "1.600"),
    ("P4d's memory over P3dn's", lambda: judge("p4d_memory_over_p3dn").value, "{:.2f}", "1.25"),
    ("P4d's compute over P3dn's", lambda: judge("p4d_compute_over_p3dn").value, "{:.2f}", "2.50"),
    ("P4d's network over P3dn's", lambda: P4D.network_bits_per_s / P3DN.network_bits_per_s, "{:g}",
     "4"),
    ("GPT-3 over BERT", lambda: judge("gpt3_over_bert").value, "{:.0f}", "515"),
    ("years on a P4d at its peak", lambda: judge("decades_on_p4d", utilisation=1.0).value,
     "{:.1f}", "4.0"),
    ("utilisation for 20 years", lambda: needed("decades_on_p4d", "utilisation"), "{:.0%}", "20%"),
    ("processors", lambda: judge("processors").value, "{:.0f}", "16"),
    ("two weeks on 600 P3dn", lambda: utilisation(P3DN), "{:.1%}", "43.3%"),
    ("on 200 P4d", lambda: utilisation(P4D), "{:.1%}", "52.0%"),
    ("on 130 Trn1 at 210", lambda: utilisation(LAUNCH), "{:.1%}", "59.4%"),
    ("on 130 Trn1 at 190", lambda: utilisation(TODAY), "{:.1%}", "65.7%"),
    ("days on 32 at the published rate", lambda: days(300e9, 12.7 * 2048), "{:.0f}", "133"),
    ("days on 130", lambda: judge("two_weeks_as_measured").value, "{:.0f}", "33"),
    ("instances for 14 days", _claim("gpt3_instances_for_14_days"), "{:.0f}", "305"),
    *((f"overhead with {kind} scaling", lambda kind=kind, form=form: " ".join(
        form.format(100 * bar.share) for bar in overhead(0.5, kind=kind)), "{}", said)
      for kind, form, said in (("weak", "{:.0f}", "50 38 17"), ("strong", "{:.1f}",
                                                               "50.0 17.2 4.4"))),
    ("P3dn that do what 200 P4d do", lambda: equal_efficiency(P4D, 0.14, P3DN, 0.50), "{:.0f}",
     "859"),
    ("which is more than 600 by", lambda: 1 - 600 / judge("p3dn_like_p4d").value, "{:.0%}", "30%"),
    ("Trn1n at 210 that do", lambda: equal_efficiency(P4D, 0.14, LAUNCH, 0.07), "{:.0f}", "137"),
    ("off 130 by", lambda: equal_efficiency(P4D, 0.14, LAUNCH, 0.07) / 130 - 1, "{:.0%}", "6%"),
    ("Trn1n at 190 that do", lambda: equal_efficiency(P4D, 0.14, TODAY, 0.07), "{:.0f}", "152"),
    ("off 130 by so much", lambda: equal_efficiency(P4D, 0.14, TODAY, 0.07) / 130 - 1, "{:.0%}",
     "17%"),
    ("chips of an UltraCluster", lambda: " ".join(str(int(fact)) for fact in (
        ULTRACLUSTER.chips_in_figure, ULTRACLUSTER.chips_launch, ULTRACLUSTER.chips)), "{}",
     "10000 30000 100000"),
    ("exaflops at 210", lambda: float(ULTRACLUSTER.peak_flops_launch) / 1e18, "{:.1f}", "6.3"),
    ("exaflops at 190", lambda: float(ULTRACLUSTER.peak_flops_30k) / 1e18, "{:.1f}", "5.7"),
    ("the managed bill on Trn1", lambda: judge("sagemaker_cost_trn1").value, "${:.3f}", "$41.435"),
    ("printed too high by", lambda: 41.47 / judge("sagemaker_cost_trn1").value - 1, "{:.3%}",
     "0.085%"),
    ("in cents", lambda: 100 * (41.47 - judge("sagemaker_cost_trn1").value), "{:.1f}", "3.5"),
    ("seconds that the print needs", lambda: needed("sagemaker_cost_trn1", "seconds"), "{:.0f}",
     "6038"),
    ("the managed bill on P4d", lambda: judge("sagemaker_cost_p4d").value, "${:.3f}", "$68.606"),
    ("iterations per second", _claim("sagemaker_rate_ratio"), "{:.4f}", "1.2206"),
    ("billable time", _claim("sagemaker_time_ratio"), "{:.3f}", "1.086"),
    ("the same as a headline", lambda: judge("sagemaker_faster").value, "{:.1f} %", "8.6 %"),
    ("lower cost", _claim("sagemaker_cheaper_by"), "{:.1%}", "39.5%"),
    ("of which by price", _claim("sagemaker_cheaper_by_price"), "{:.1%}", "34.4%"),
    ("iterations of both runs", _claim("sagemaker_iterations"), "{:,.0f}", "15,653"),
    ("fixed seconds of both", _claim("sagemaker_fixed_s"), "{:,.0f}", "3,676"),
    ("as a share of the bill", _claim("sagemaker_fixed_over_billed"), "{:.0%}", "61%"),
    ("Trn1's price over Inf2's", _claim("inf2_price_ratio"), "{:.3f}", "1.772"),
    ("speed if 39 % is per dollar", lambda: needed("inf2_better", "speed"), "{:.2f}", "0.78"),
    ("speed if 39 % is of the cost", _claim("inf2_speed_ratio_by_cost"), "{:.2f}", "0.92"),
    ("a Tensor Engine's peak", lambda: judge("engine_peak").value / 1e12, "{:.2f}", "91.75"),
    ("as documented", lambda: float(TRN1.tensor_engine.peak_flops) / 1e12, "{:.0f}", "92"),
    ("in FP32", lambda: float(TRN1.tensor_engine.peak_flops_fp32) / 1e12, "{:.0f}", "23"),
    ("over", lambda: float(NEURONCORE_V2.tensor_engine.peak_flops_over) / 1e12, "{:.0f}", "90"),
    ("a chip's, from the array", lambda: judge("chip_peak_today").value / 1e12, "{:.1f}", "183.5"),
]  # fmt: skip


@for_each(("name", "number", "form", "said"), DIGITS)
def test_every_number_has_the_digits_of_its_source(name, number, form, said):
    assert form.format(number()) == said, name


@for_rows("key, verdict",
    ("one_peak_for_all", "conflicting"), ("small_network", "conflicting"),
     ("hypercube_is_torus", "consistent"), ("stochastic_rounding", "untestable"),
     ("cheaper_by", "untestable"),
)  # fmt: skip
def test_what_has_no_digits_has_a_verdict(key, verdict):
    assert COURT[key].verdict is Verdict(verdict)
