"""The claims court: every headline of the sources as an executable row, and how it is judged.

``docket()`` prints all verdicts, ``judge(key)`` one with its evidence, and the same again with an
input moved: ``judge("petaflops", chip_flops=190e12)``.  What a headline allows and how a verdict
follows stands in ``court.py``; what ``specs.CLAIMS`` computes already is imported from there.

References: `aws-news-trn1-launch`, `nextplatform-reinvent-2021`, `aws-ml-blog-sagemaker`,
`inferentia2-training-post`, `aws-trn1-page-early`, `aws-trainium-page` (specs.SOURCES).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from math import nan
from typing import Any

import numpy as np

from trainium_edu.cluster.cost import Input, as_input
from trainium_edu.cluster.court import Claim, Ruling, Verdict, rule, solve
from trainium_edu.specs import CLAIMS, INSTANCES, PRICES, TRN1, ULTRACLUSTER, Fact, derive
from trainium_edu.specs.arguments import number, short
from trainium_edu.specs.signatures import checked

__all__ = ["COURT", "Docket", "docket", "judge", "needed", "overturned"]

_C = CLAIMS
_trn1, _trn1n, _small = (INSTANCES[f"{n}xlarge"] for n in ("trn1.32", "trn1n.32", "trn1.2"))
_p4d, _p3dn = INSTANCES["p4d.24xlarge"], INSTANCES["p3dn.24xlarge"]
_ALL = "the peak itself"


# --- inputs ---------------------------------------------------------------------------------------


def _of(name, fact, low=None, high=None, about=("", "")) -> Input:
    """Return an input: a fact as used, with facts or numbers as the ends of its range."""
    ends = [fact if end is None else end for end in (low, high)]
    said = [about_it or (f"{end.source}, {end.as_of}" if isinstance(end, Fact) and end is not fact
                         else "") for end, about_it in zip(ends, about, strict=True)]  # fmt: skip
    return Input(name, float(ends[0]), float(fact), float(ends[1]), fact.unit, fact, *said)


def _nobody(name, low, high, unit="") -> Input:
    """Return an input that no source has, with the range in which to look for it."""
    return Input(name, low, nan, high, unit, None, "our choice", "our choice")


def _rounded(name, fact, key):
    """Return one share of the keynote's bars, which are printed in whole per cent."""
    share = derive("of the time", lambda said: dict(said)[key], fact, locator=f"the bar of {key}")
    low, high = (round(float(share) + half, 3) for half in (-0.005, 0.005))
    return _of(name, share, low, high, ("rounded",) * 2)


def _count(name, key):
    return _of(name, derive("instances", lambda said: dict(said)[key], _C.two_week_instances,
                            locator=f"the count of {key}"))  # fmt: skip


_fp32_from_array = _C.fp32_over_p4d_with_184.inputs[0]
_trn1_flops = _of(
    "trn1_flops", _trn1.peak_flops, _trn1.peak_flops_from_array, _trn1.peak_flops_launch
)
_trn1_fp32 = _of(
    "trn1_flops", _trn1.peak_flops_fp32, _fp32_from_array, _trn1.peak_flops_fp32_launch
)
_chip_flops = _of("chip_flops", TRN1.peak_flops, TRN1.peak_flops_from_array, TRN1.peak_flops_launch)
_p4d_flops, _p3dn_flops = _of("p4d_flops", _p4d.peak_flops), _of("p3dn_flops", _p3dn.peak_flops)
_chips = _of("chips", _trn1.chips)
_trn1_network = _of("trn1_network", _trn1.network_bits_per_s, None, _trn1n.network_bits_per_s,
                    ("", "trn1n.32xlarge"))  # fmt: skip
_p4d_network = _of("p4d_network", _p4d.network_bits_per_s)
_gpt3 = _C.gpt3_years_on_p4d.inputs[0]
_work = _of("flops", _gpt3)
_between = derive("of the peak", lambda a, b: (a + b) / 2, _C.a100_share_of_peak,
                  _C.a100_share_of_peak_best, locator="between 43 and 52 %")  # fmt: skip
_seconds = [_of("seconds", getattr(_C, f"sagemaker_seconds_{n}")) for n in ("trn1", "p4d")]
_managed = [_of(f"{n}_usd_per_hour", PRICES[i].sagemaker_usd_per_hour)
            for n, i in (("trn1", "trn1.32xlarge"), ("p4d", "p4d.24xlarge"))]  # fmt: skip
_demanded = [_of(f"{n}_usd_per_hour", PRICES[i].on_demand_usd_per_hour)
             for n, i in (("trn1", "trn1.32xlarge"), ("p4d", "p4d.24xlarge"))]  # fmt: skip
_te = TRN1.tensor_engine
_array_inputs = [_of(n, getattr(_te, fact)) for n, fact in
                 (("rows", "rows"), ("columns", "columns"), ("clock_hz", "clock_hz"))]  # fmt: skip


# --- formulas that specs.CLAIMS does not hold -----------------------------------------------------


def _same(x):
    return x


def _product(*factors):
    return np.multiply.reduce(np.broadcast_arrays(*factors)) if len(factors) > 1 else factors[0]


def _quotient(a, b):
    return a / b


def _less_one(x):
    return x - 1


def _years(flops, peak, utilisation):
    return _C.gpt3_years_on_p4d.formula(flops, peak) / utilisation


def _days(flops, instances, peak, utilisation):
    return flops / (instances * peak * utilisation) / 86400


def _as_efficient(p4d_count, p4d_flops, p4d_share, flops, share):
    return p4d_count * p4d_flops * (1 - p4d_share) / (flops * (1 - share))


def _overhead(said, first_flops, first_network, first_count, flops, network, count, shared):
    """Return communication's share of the time, if peaks and networks alone decide it."""
    computing = first_flops / flops * (first_count / count) ** shared
    ratio = said / (1 - said) * (first_network / network) / computing
    return ratio / (1 + ratio)


def _saved(usd, other_usd, speed):
    return 1 - usd / other_usd / speed


def _faster(seconds, rate, other_rate, fixed_s):
    """Return by how much one run is faster, if what is fixed takes both as long."""
    other_s = (seconds - fixed_s) * rate / other_rate + fixed_s
    return other_s / seconds - 1


def _worst_miss(chip_flops):
    """Return the worst of three misses at one peak, each over what its headline allows."""
    misses = []
    for key, share, theirs in (("bf16_over_p4d", 1, _p4d.peak_flops),
                               ("tf32_over_p4d", 1, _p4d.peak_flops_tf32),
                               ("fp32_over_p4d", 4, _p4d.peak_flops_fp32)):  # fmt: skip
        ratio = float(_trn1.chips) * chip_flops / share / float(theirs)
        allowed = COURT[key].allowed[1] - COURT[key].claimed
        misses.append(abs(ratio - COURT[key].claimed) / allowed)
    return np.maximum.reduce(misses)


# --- the rows -------------------------------------------------------------------------------------


def _two_weeks(key, name, flops, utilisation, also=()):
    count = dict(_C.two_week_instances.value)[key]
    return Claim(
        f"two_weeks_{key}", f"GPT-3 in under two weeks on {count} {name}", _C.two_weeks, 14, "days",
        "3.14e23 FLOP / (instances * peak * utilisation)",
        (_work, _count("instances", key), flops, utilisation), _days, "at most", also=also,
    )  # fmt: skip


def _bar(key, name, per_cent, flops, network, also=()):
    return Claim(
        f"overhead_{key}", f"communication takes {per_cent} % of the time on {name}",
        _C.communication_share, per_cent / 100, "of the time",
        "P3dn's communication over compute * (peak / P3dn's) / (network / P3dn's) * (instances /"
        " P3dn's)^work_shared_out",
        (_rounded("p3dn_share", _C.communication_share, "p3dn"), _p3dn_flops,
         _of("p3dn_network", _p3dn.network_bits_per_s), _count("p3dn_instances", "p3dn"), flops,
         network, _count("instances", key),
         _of("work_shared_out", _C.work_shared_out, 0, 1, ("each keeps its work", "all share it"))),
        _overhead, digit=0.01, also=also,
    )  # fmt: skip


def _efficient(key, name, flops):
    count = dict(_C.two_week_instances.value)[key]
    return Claim(
        f"{key}_like_p4d", f"{count} {name} do what 200 P4d do", _C.two_week_instances, count,
        "instances", "200 * (P4d's peak / its peak) * (1 - P4d's overhead) / (1 - its overhead)",
        (_count("p4d_instances", "p4d"), _p4d_flops,
         _rounded("p4d_share", _C.communication_share, "p4d"), flops,
         _rounded(f"{key}_share", _C.communication_share, key)), _as_efficient,
    )  # fmt: skip


def _with(prefix, peaks=("210", "190", "184")):
    words = {"210": "at launch", "190": "today", "184": "2 x 92"}
    return tuple((f"{words[p]}, {p} per chip", getattr(_C, f"{prefix}_with_{p}")) for p in peaks)


_ROWS = (
    Claim("bf16_over_p4d", "Trn1 has 1.4 times the BF16 FLOPS of P4d", _C.bf16_over_p4d, 1.4, "",
          "peak of trn1.32xlarge / peak of p4d.24xlarge, dense", (_trn1_flops, _p4d_flops),
          _quotient, digit=0.1, also=_with("bf16_over_p4d")),
    Claim("tf32_over_p4d", "Trn1 has 2.5 times the TF32 FLOPS of P4d", _C.tf32_over_p4d, 2.5, "",
          "peak of trn1.32xlarge / peak of p4d.24xlarge, dense",
          (_trn1_flops, _of("p4d_flops", _p4d.peak_flops_tf32)), _quotient, digit=0.1,
          also=_with("tf32_over_p4d")),
    Claim("fp32_over_p4d", "Trn1 has 5 times the FP32 FLOPS of P4d", _C.fp32_over_p4d, 5, "",
          "peak of trn1.32xlarge / peak of p4d.24xlarge",
          (_trn1_fp32, _of("p4d_flops", _p4d.peak_flops_fp32)), _quotient, digit=1,
          also=_with("fp32_over_p4d")),
    Claim("one_peak_for_all", "1.4, 2.5 and 5 times hold of one and the same chip",
          _C.bf16_over_p4d, 1, "of what the headlines allow", "the worst of the three misses, FP32"
          " at a quarter of the peak; above 1 a headline fails", (_chip_flops,), _worst_miss,
          "at most"),
    Claim("petaflops", "a trn1.32xlarge has 3.4 PFLOPS", _trn1.peak_flops_announced, 3.4e15,
          "FLOP/s", "chips * peak of a chip", (_chips, _chip_flops), _product, digit=1e14,
          also=(("today's page", _trn1.peak_flops), ("at launch", _trn1.peak_flops_launch))),
    Claim("chip_peak_at_launch", "a Trainium chip has 210 TFLOPS in BF16", TRN1.peak_flops_launch,
          210e12, "FLOP/s", "2 NeuronCores * rows * columns * 2 * clock",
          (_of("cores", TRN1.cores), *_array_inputs), lambda *x: 2 * _product(*x), digit=1e12,
          slack=0, also=(("from two engines of 92", TRN1.peak_flops_from_cores),)),
    Claim("chip_peak_today", "a Trainium chip has 190 TFLOPS in BF16", TRN1.peak_flops, 190e12,
          "FLOP/s", "2 NeuronCores * rows * columns * 2 * clock",
          (_of("cores", TRN1.cores), *_array_inputs), lambda *x: 2 * _product(*x), digit=1e12,
          slack=0, also=(("from two engines of 92", TRN1.peak_flops_from_cores),)),
    Claim("engine_peak", "a Tensor Engine has 92 TFLOPS in BF16", _te.peak_flops, 92e12, "FLOP/s",
          "rows * columns * 2 * clock", tuple(_array_inputs), lambda *x: 2 * _product(*x),
          digit=1e12, slack=0),
    Claim("network_over_p4d", "Trn1 has 4 times the network bandwidth of P4d", _C.network_over_p4d,
          4, "", "EFA of the instance / EFA of p4d.24xlarge", (_trn1_network, _p4d_network),
          _quotient, digit=1, also=(("the same post further down", _C.network_over_p4d_up_to),
          ("trn1.32xlarge", _C.network_over_p4d_trn1), ("trn1n.32xlarge",
           _C.network_over_p4d_trn1n))),
    Claim("network_over_p4d_up_to", "Trn1 has up to twice the network bandwidth of P4d",
          _C.network_over_p4d_up_to, 2, "", "EFA of trn1.32xlarge / EFA of p4d.24xlarge",
          (_of("trn1_network", _trn1.network_bits_per_s), _p4d_network), _quotient),
    Claim("small_network", "a trn1.2xlarge has up to 12.5 Gbit/s",
          _small.network_bits_per_s_launch, 12.5e9, "bits/s", "the documentation's table of sizes",
          (_of("network", _small.network_bits_per_s),), _same, digit=0.1e9),
    Claim("memory_over_p4d", "Trn1 has 60 % more memory than P4d", _C.memory_over_p4d, 1.6, "",
          "512 / 320, each in the unit that its page prints",
          (_of("trn1_gb", derive("GB", lambda b: b / 2**30, _trn1.memory_bytes,
                                 locator="printed as 512")),
           _of("p4d_gb", derive("GB", lambda b: b / 1e9, _p4d.memory_bytes,
                                locator="8 * 40 GB"))), _quotient, digit=0.1,
          also=(("in bytes, if one page means GiB and the other GB",
                 derive("", _quotient, _trn1.memory_bytes, _p4d.memory_bytes,
                        locator="549.8e9 / 320e9")),)),
    Claim("p4d_memory_over_p3dn", "P4d has 25 % more memory than P3dn", _C.p4d_memory_over_p3dn,
          1.25, "", "320 / 256", tuple(_of(n, f) for n, f in zip(
              ("p4d_bytes", "p3dn_bytes"), _C.p4d_memory_over_p3dn_derived.inputs, strict=True)),
          _C.p4d_memory_over_p3dn_derived.formula, digit=0.01),
    Claim("p4d_compute_over_p3dn", "P4d has 4 times the compute of P3dn", _C.p4d_compute_over_p3dn,
          4, "", "dense FP16: 2 496 / 1 000 TFLOPS", (_p4d_flops, _p3dn_flops),
          _C.p4d_compute_over_p3dn_derived.formula, digit=1, also=(("the network is 4 times",
          derive("", _quotient, _p4d.network_bits_per_s, _p3dn.network_bits_per_s,
                 locator="400 / 100")),)),
    Claim("gpt3_over_bert", "GPT-3 is 500 times BERT", _C.gpt3_over_bert, 500, "",
          "175e9 / 340e6 parameters", tuple(_of(n, f) for n, f in zip(
              ("gpt3", "bert"), _C.gpt3_over_bert_derived.inputs, strict=True)),
          _C.gpt3_over_bert_derived.formula),
    Claim("decades_on_p4d", "GPT-3 takes decades on one P4d", _C.one_p4d_takes, 20, "years",
          "3.14e23 FLOP / (peak * utilisation)", (_work, _p4d_flops,
          _of("utilisation", _between, _C.untuned_share_of_peak, 1, ("", _ALL))), _years,
          "at least", also=(("at the peak", _C.gpt3_years_on_p4d),
                            ("decades means two", _C.two_decades))),
    Claim("processors", "Trainium has 16 programmable processors",
          _C.processors, 16, "processors", "NeuronCores * processors of a GpSimd Engine",
          (_of("cores", TRN1.cores), _of("processors", TRN1.gpsimd_engine.processors)), _product),
    _two_weeks("p3dn", "P3dn", _p3dn_flops, _of("utilisation", _C.v100_share_of_peak, None, 1,
                                                ("", _ALL))),
    _two_weeks("p4d", "P4d", _p4d_flops, _of("utilisation", _between, _C.a100_share_of_peak, 1,
                                             ("", _ALL)),
               (("measured at best", _C.a100_share_of_peak_best),)),
    _two_weeks("trn1", "Trn1", _trn1_flops, _of("utilisation", _C.gpt3_share_of_peak, None, 1,
                                                ("", _ALL)),
               (("the published row, scaled linearly", _C.gpt3_days_on_130),)),
    Claim("two_weeks_as_measured", "GPT-3 in under two weeks on 130 Trn1, at the speed that AWS"
          " published later", _C.two_weeks, 14, "days", "300e9 tokens / (12.7 * 2 048 tokens/s), "
          "scaled linearly from 32 instances to 130",
          tuple(_of(n, f) for n, f in zip(("tokens", "sequences_per_s"),
                                          _C.gpt3_days_on_130.inputs, strict=True)),
          _C.gpt3_days_on_130.formula, "at most",
          also=(("instances for 14 days", _C.gpt3_instances_for_14_days),
                ("on 32", _C.gpt3_days_on_32))),
    _efficient("p3dn", "P3dn", _p3dn_flops),
    _efficient("trn1", "Trn1", _trn1_flops),
    _bar("p4d", "P4d", 14, _p4d_flops, _of("network", _p4d.network_bits_per_s)),
    _bar("trn1", "Trn1", 7, _of("trn1_flops", _trn1.peak_flops_launch, _trn1.peak_flops_from_array),
         _of("network", _trn1n.network_bits_per_s)),
    Claim("ultracluster_flops", "30 000 chips are over six exaflops",
          ULTRACLUSTER.peak_flops_announced, 6e18, "FLOP/s", "chips * peak of a chip",
          (_of("chips", ULTRACLUSTER.chips_launch), _chip_flops), _product, "at least",
          also=(("at launch", ULTRACLUSTER.peak_flops_launch),
                ("today", ULTRACLUSTER.peak_flops_30k))),
    Claim("ultracluster_chips", "an UltraCluster has 30 000 chips", ULTRACLUSTER.chips_launch,
          30_000, "chips", "what the editions of the documentation say",
          (_of("chips", ULTRACLUSTER.chips, ULTRACLUSTER.chips_in_figure),), _same),
    Claim("hypercube_is_torus", "the chips form a 4D hypercube, as one sentence says, and a 2D"
          " torus, as another does", _trn1.topology_early, 1, "of a hypercube's links",
          "a torus chip has 4 links, a hypercube's log2(chips); a ring of 4 is a square",
          (_chips,), lambda chips: 4 / np.log2(chips), slack=0, digit=1e-9,
          also=(("today's page", _trn1.topology),)),
    Claim("stochastic_rounding", "training is up to 30 % faster with stochastic rounding",
          _C.stochastic_rounding_faster_by, 0.3, "", "speed with it / speed without - 1",
          (_nobody("speed", 0.5, 3),), _less_one, digit=0.01),
    Claim("cheaper_by", "Trn1 trains at up to 50 % lower cost than comparable GPU instances",
          _C.cheaper_by, 0.5, "", "1 - (price / P4d's price) / speed over P4d",
          (*_demanded, _nobody("speed", 0.5, 3)), _saved, digit=0.01,
          also=(("the one published table", _C.sagemaker_cheaper_by),)),
    Claim("sagemaker_cheaper", "up to 50 % lower cost, beside a table of BERT",
          _C.sagemaker_cheaper_up_to, 0.5, "",
          "1 - (24.725 / 37.69) / speed: by billable time, or by iterations",
          (*_managed, _of("speed", _C.sagemaker_time_ratio, None, _C.sagemaker_rate_ratio,
                          ("billable time", "iterations"))), _saved, digit=0.01,
          also=(("as printed", _C.sagemaker_cheaper_by),
                ("of which by price alone", _C.sagemaker_cheaper_by_price),
                ("speed for 50 %", _C.sagemaker_speedup_for_half),
                ("by the peaks at launch", _C.sagemaker_cheaper_by_peaks))),
    Claim("sagemaker_cost_trn1", "training on ml.trn1.32xlarge cost $41.47",
          _C.sagemaker_cost_trn1, 41.47, "USD", "price per hour * billable seconds / 3600",
          (_managed[0], _seconds[0]), _C.sagemaker_cost_trn1_derived.formula, digit=0.01, slack=0,
          also=(("seconds for the print", _C.sagemaker_seconds_for_print),)),
    Claim("sagemaker_cost_p4d", "training on ml.p4d.24xlarge cost $68.6", _C.sagemaker_cost_p4d,
          68.6, "USD", "price per hour * billable seconds / 3600", (_managed[1], _seconds[1]),
          _C.sagemaker_cost_p4d_derived.formula, digit=0.1, slack=0),
    Claim("sagemaker_faster", "22 % faster time to train", _C.sagemaker_faster_by, 0.22, "",
          "billable seconds at P4d's rate / at Trn1's - 1, if both do the same iterations and spend"
          " as long on the rest",
          (_seconds[0], _of("trn1_rate", _C.sagemaker_rate_trn1),
           _of("p4d_rate", _C.sagemaker_rate_p4d),
           _of("fixed_s", _C.sagemaker_fixed_s, 0, None, ("iterations alone", ""))), _faster,
          digit=0.01, also=(("iterations per second", _C.sagemaker_rate_ratio),
                            ("billable seconds", _C.sagemaker_time_ratio),
                            ("iterations of both", _C.sagemaker_iterations),
                            ("fixed part of the bill", _C.sagemaker_fixed_over_billed))),
    Claim("inf2_better", "inf2.xlarge has 39 % better price-performance than trn1.2xlarge",
          _C.inf2_better_by, 0.39, "", "price of trn1.2xlarge / price of inf2.xlarge * speed - 1",
          (_of("trn1_usd_per_hour", *_C.inf2_price_ratio.inputs[:1]),
           _of("inf2_usd_per_hour", *_C.inf2_price_ratio.inputs[1:]), _nobody("speed", 0.3, 3)),
          lambda usd, other, speed: usd / other * speed - 1, digit=0.01,
          also=(("speed if 39 % more work per dollar", _C.inf2_speed_ratio_per_dollar),
                ("speed if 39 % less cost", _C.inf2_speed_ratio_by_cost))),
)  # fmt: skip
#: Every headline by its key.
COURT: dict[str, Claim] = {claim.key: claim for claim in _ROWS}


# --- asking the court -----------------------------------------------------------------------------


@checked
def judge(key: str, *, slack: float | None = None, **inputs: Any) -> Ruling:
    """Judge a headline, with some of its inputs moved.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    slack : float, optional
        How far a right number may lie from the headline, as a share of it, in place of 5 % (0 for
        tables).
    **inputs
        By name: a number, a Fact or (low, used, high).  All others keep their ranges.

    Returns
    -------
    Ruling

    Raises
    ------
    ValueError
        If there is no such claim, or it has no such input.

    Examples
    --------
    >>> print(judge("petaflops").verdict, judge("petaflops", chip_flops=190e12).verdict, sep=", ")
    only under, conflicting
    >>> judge("petaflops").condition
    'chip_flops at least 201.9 TFLOP/s'
    """
    claim = _claim(key)
    if slack is not None:
        claim = replace(claim, slack=number(slack, "slack", 0, 1))
    return rule(claim, _moved(claim, inputs))


@checked
def needed(key: str, name: str, **inputs: Any) -> float:
    """Return the value of one input that gives exactly what a headline says.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    name : str
        The input to find; the others are as used.
    **inputs
        Other inputs, moved, as for :func:`judge`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If no value from a thousandth to a thousand times of what is used gives it.

    Examples
    --------
    >>> round(needed("sagemaker_cost_trn1", "seconds"))
    6038
    """
    claim = _claim(key)
    moved = _moved(claim, inputs)
    _known(claim, name)
    found = solve(claim, moved, name)
    if np.isnan(found):
        raise ValueError(f"no {name} gives {claim.written(claim.claimed)} in {key} while the other "
                         "inputs are as they are; move another one")  # fmt: skip
    return found


@checked
def overturned(key: str, inputs: Mapping[str, Any]) -> bool:
    """Return whether inputs inside their ranges make right what was wrong, or wrong what was right.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    inputs : dict of str to float
        The inputs to move; the others stay as used.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If there is no such claim or input, a value is outside its range, or nobody published it.

    Examples
    --------
    >>> overturned("bf16_over_p4d", {"trn1_flops": 16 * 210e12})
    True
    >>> overturned("bf16_over_p4d", {"trn1_flops": 16 * 250e12})
    Traceback (most recent call last):
    ValueError: trn1_flops is 4 PFLOP/s; the sources have it from 2.936 PFLOP/s to 3.36 PFLOP/s
    """
    claim = _claim(key)
    values = {each.name: each.used for each in claim.inputs}
    for name, value in inputs.items():
        found = _known(claim, name)
        moved = number(value, name)
        if found.fact is None:
            raise ValueError(f"nobody published {name}, so no value of it overturns {key}; "
                             "choose a claim that can be tested")  # fmt: skip
        if not found.low <= moved <= found.high:
            has = f"{found.written(found.low)} to {found.written(found.high)}"
            raise ValueError(f"{name} is {found.written(moved)}; the sources have it from {has}"
                             if found.is_range else f"{name} is {found.written(found.used)} in all "
                             "sources; move an input that has a range")  # fmt: skip
        values[name] = moved
    before = claim.ruling
    if before.verdict is Verdict.UNTESTABLE:
        return False
    return claim.allows(float(claim.formula(*values.values()))) != before.holds


class Docket(tuple):
    """All rulings in the order of the sources; ``print`` shows them as a table."""

    __slots__ = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims came to each verdict."""
        found = Counter(ruling.verdict for ruling in self)
        return {verdict: found[verdict] for verdict in Verdict}

    def __str__(self):
        lines = []
        for ruling in self:
            claim = ruling.claim
            gives = "" if np.isnan(ruling.value) else claim.written(ruling.value)
            if ruling.low < ruling.high:
                gives += f" ({claim.written(ruling.low)} to {claim.written(ruling.high)})"
            lines += [f"{ruling.verdict.upper():<12}{claim.text} [{claim.key}]",
                      f"{'':<12}arithmetic: {gives or 'an input is missing'}"]  # fmt: skip
            if ruling.condition:
                lines.append(f"{'':<12}right under {ruling.condition}")
        return "\n".join([*lines, ", ".join(f"{n} {v}" for v, n in self.counts.items())])

    def __repr__(self):
        return f"Docket({len(self)} claims)"


def docket() -> Docket:
    """Judge every headline with its inputs as the sources have them.

    Returns
    -------
    Docket

    Examples
    --------
    >>> print(docket().counts[Verdict.UNTESTABLE], "are untestable")
    3 are untestable
    """
    return Docket(claim.ruling for claim in COURT.values())


def _claim(key) -> Claim:
    """Return a claim by its key, or raise and name the nearest ones."""
    if key not in COURT:
        near = get_close_matches(key, COURT, 3, 0.3) or list(COURT)[:3]
        raise ValueError(f"no claim {key!r}; docket() lists all {len(COURT)}, such as "
                         f"{', '.join(near)}")  # fmt: skip
    return COURT[key]


def _known(claim, name) -> Input:
    """Return one of a claim's inputs, or raise and list them."""
    for each in claim.inputs:
        if each.name == name:
            return each
    raise ValueError(f"{claim.key} has no input {short(name)}; it has "
                     f"{', '.join(each.name for each in claim.inputs)}")  # fmt: skip


def _moved(claim, values) -> tuple[Input, ...]:
    """Return a claim's inputs with those replaced that are given."""
    given = {}
    for name, value in values.items():
        each = _known(claim, name)
        bounds = {"low": 0} if each.low == 0 else {"above": 0}
        bounds |= {"high": 1} if each.unit.startswith("of ") else {}
        given[name] = replace(as_input(value, name, each.unit, **bounds), name=name)
    return tuple(given.get(each.name, each) for each in claim.inputs)
