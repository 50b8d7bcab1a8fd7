"""What was claimed for Trainium, beside the arithmetic that a reader can redo."""

from trainium_edu.specs.fact import derive
from trainium_edu.specs.instances import INSTANCES
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.sources import SOURCES, stated

__all__ = ["CLAIMS"]

_blog = SOURCES["aws-ml-blog-sagemaker"].says
_RESULTS = "table of results"
_p4d, _p3dn, _trn1 = (INSTANCES[n] for n in ("p4d.24xlarge", "p3dn.24xlarge", "trn1.32xlarge"))
_trn1n = INSTANCES["trn1n.32xlarge"]


def _ratio(a, b, locator):
    return derive("", lambda x, y: x / y, a, b, locator=locator)


_seconds = {
    "trn1": _blog(6033, "s", f"{_RESULTS}, billable seconds, ml.trn1.32xlarge"),
    "p4d": _blog(6553, "s", f"{_RESULTS}, billable seconds, ml.p4d.24xlarge"),
}
_rate = {
    "trn1": _blog(6.64, "iterations/s", f"{_RESULTS}, ml.trn1.32xlarge"),
    "p4d": _blog(5.44, "iterations/s", f"{_RESULTS}, ml.p4d.24xlarge"),
}
_gpt3_rate = SOURCES["aws-trn1-benchmarks"].says(
    12.7, "sequences/s", "GPT3-175B pre-training, 32 nodes", note="sequences of 2 048 tokens"
)
_gpt3_tokens = SOURCES["gpt3-paper"].says(300e9, "tokens", "training")
_gpt3_flops = SOURCES["gpt3-paper"].says(3.14e23, "FLOP", "table of total compute")
_gpt3_parameters = SOURCES["gpt3-paper"].says(175e9, "parameters", "abstract")
_bert_parameters = SOURCES["bert-paper"].says(340e6, "parameters", "BERT-large")
_fp32_of_array = derive("FLOP/s", lambda n: n / 4, _trn1.peak_flops_from_array,
                        locator="a quarter of the array's BF16 peak")  # fmt: skip
_rest = derive(
    "iterations",
    lambda slow, fast, a, b: (slow - fast) / (1 / a - 1 / b),
    _seconds["p4d"],
    _seconds["trn1"],
    _rate["p4d"],
    _rate["trn1"],
    locator="(6553 - 6033) / (1/5.44 - 1/6.64)",
    note="if both runs did as many, and spent as long on the rest",
)
_fixed = derive(
    "s",
    lambda s, n, rate: s - n / rate,
    _seconds["trn1"],
    _rest,
    _rate["trn1"],
    locator="6033 - iterations / 6.64",
)
_sagemaker = [PRICES[n].sagemaker_usd_per_hour for n in ("trn1.32xlarge", "p4d.24xlarge")]
_inf2 = SOURCES["inferentia2-training-post"].says
_inf2_better = _inf2(0.39, "", "Results, text", note="inf2.xlarge over trn1.2xlarge")
_inf2_price = _ratio(
    PRICES["trn1.2xlarge"].on_demand_usd_per_hour_exact,
    PRICES["inf2.xlarge"].on_demand_usd_per_hour,
    "1.34375 / 0.7582",
)


def _cost(name, instance):
    return derive("USD", lambda usd, s: usd * s / 3600, PRICES[instance].sagemaker_usd_per_hour,
                  _seconds[name], locator="price per hour * billable seconds / 3600")  # fmt: skip


CLAIMS = stated(
    "published claims and their arithmetic",
    fp32_over_p4d_with_210=_ratio(_trn1.peak_flops_fp32_launch, _p4d.peak_flops_fp32,
                                  "trn1.32xlarge / p4d, 52.5 TFLOPS per chip"),
    fp32_over_p4d_with_190=_ratio(_trn1.peak_flops_fp32, _p4d.peak_flops_fp32,
                                  "trn1.32xlarge / p4d, 47.5 TFLOPS per chip"),
    fp32_over_p4d_with_184=_ratio(_fp32_of_array, _p4d.peak_flops_fp32,
                                  "trn1.32xlarge / p4d, 2 x 23 TFLOPS per chip, from the array"),
    network_over_p4d_trn1=_ratio(_trn1.network_bits_per_s, _p4d.network_bits_per_s, "800 / 400"),
    network_over_p4d_trn1n=_ratio(_trn1n.network_bits_per_s, _p4d.network_bits_per_s,
                                  "1600 / 400"),
    p4d_memory_over_p3dn_derived=_ratio(_p4d.memory_bytes, _p3dn.memory_bytes, "320 GB / 256 GB"),
    p4d_compute_over_p3dn_derived=_ratio(_p4d.peak_flops, _p3dn.peak_flops, "2496 / 1000 TFLOPS"),
    gpt3_over_bert_derived=_ratio(_gpt3_parameters, _bert_parameters, "175e9 / 340e6"),
    gpt3_years_on_p4d=derive("years", lambda f, s: f / s / (365.25 * 86400), _gpt3_flops,
                             _p4d.peak_flops, locator="3.14e23 / peak, at 100 % utilisation",
                             note='the report says "decades", which needs 20 % or less'),
    gpt3_sequences_per_s=_gpt3_rate,
    gpt3_days_on_32=derive("days", lambda t, r: t / (r * 2048) / 86400, _gpt3_tokens, _gpt3_rate,
                           locator="300e9 tokens / (12.7 * 2 048 tokens/s)"),
    gpt3_days_on_130=derive("days", lambda t, r: t / (r * 2048) / 86400 * 32 / 130, _gpt3_tokens,
                            _gpt3_rate, locator="the same on 130 instances, scaled linearly"),
    gpt3_instances_for_14_days=derive(
        "instances", lambda t, r: t / (r * 2048) / 86400 * 32 / 14, _gpt3_tokens, _gpt3_rate,
        locator="the same in 14 days, scaled linearly"),
    sagemaker_cost_trn1_derived=_cost("trn1", "trn1.32xlarge"),
    sagemaker_cost_p4d_derived=_cost("p4d", "p4d.24xlarge"),
    sagemaker_rate_ratio=_ratio(_rate["trn1"], _rate["p4d"], "6.64 / 5.44"),
    sagemaker_time_ratio=_ratio(_seconds["p4d"], _seconds["trn1"], "6553 / 6033"),
    sagemaker_iterations=_rest,
    sagemaker_fixed_s=_fixed,
    sagemaker_fixed_over_billed=_ratio(_fixed, _seconds["trn1"], "fixed / 6033"),
    sagemaker_seconds_for_print=derive("s", lambda usd, hour: usd / hour * 3600,
                                       _blog(41.47, "USD", _RESULTS), _sagemaker[0],
                                       locator="41.47 / 24.725 * 3600"),
    sagemaker_cheaper_by_price=derive("", lambda a, b: 1 - a / b, *_sagemaker,
                                      locator="1 - 24.725 / 37.69"),
    sagemaker_cheaper_by_peaks=derive(
        "", lambda a, b, x, y: 1 - a / b / (x / y), *_sagemaker, _trn1.peak_flops_launch,
        _p4d.peak_flops, locator="1 - 24.725 / 37.69 / (3 360 / 2 496)",
        note="if speed were the peaks' at launch: nobody measured it"),
    sagemaker_speedup_for_half=derive("", lambda a, b: a / b / 0.5, *_sagemaker,
                                      locator="24.725 / 37.69 / (1 - 50 %)"),
    sagemaker_cheaper_by=derive("", lambda a, b: 1 - a / b, _blog(41.47, "USD", _RESULTS),
                                _blog(68.6, "USD", _RESULTS), locator="1 - 41.47 / 68.6"),
    inf2_better_by=_inf2_better,
    inf2_price_ratio=_inf2_price,
    inf2_speed_ratio_per_dollar=derive("", lambda better, p: (1 + better) / p, _inf2_better,
                                       _inf2_price, locator="1.39 / 1.772"),
    inf2_speed_ratio_by_cost=derive("", lambda better, p: 1 / p / (1 - better), _inf2_better,
                                    _inf2_price, locator="1 / 1.772 / (1 - 39 %)"),
    gpt3_share_of_peak=derive(
        "of the peak", lambda rate, f, t, peak: rate * 2048 * f / t / (32 * peak), _gpt3_rate,
        _gpt3_flops, _gpt3_tokens, _trn1.peak_flops,
        locator="12.7 * 2 048 * 3.14e23 / 300e9 / (32 * 3 040 TFLOPS)"),
    **{
        f"{kind}_over_p4d_with_{peak}": _ratio(ours, theirs, f"trn1.32xlarge / p4d, {where}")
        for kind, theirs in (("bf16", _p4d.peak_flops), ("tf32", _p4d.peak_flops_tf32))
        for peak, ours, where in (
            ("210", _trn1.peak_flops_launch, "210 TFLOPS per chip"),
            ("190", _trn1.peak_flops, "190 TFLOPS per chip"),
            ("184", _trn1.peak_flops_from_array, "2 x 92 TFLOPS per chip, from the array: 183.5"),
        )
    },
)  # fmt: skip
