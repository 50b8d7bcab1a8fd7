"""Questions of lesson 11b: overhead as it was drawn, two weeks, 22 % faster, six headlines.

The verdict on a headline is computed where it is revealed; here stand only what people believe.
"""

import math
from dataclasses import replace

from trainium_edu.cluster import COURT, KEYNOTE, judge, overhead, utilisation
from trainium_edu.cluster.court import Verdict
from trainium_edu.exercises.predict import Answer, Question, question, words_of
from trainium_edu.exercises.questions.tables import numbers
from trainium_edu.specs import CLAIMS, INSTANCES, PRICES, SOURCES
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.cluster import court

_SHOWN = words_of(__file__)["shown"]
_DAY_S = 86_400
_TOKENS = SOURCES["gpt3-paper"].says(300e9, "tokens", "training")
_SAID = dict(CLAIMS.communication_share.value)
_COUNTS = dict(CLAIMS.two_week_instances.value)
_TRN1 = INSTANCES["trn1.32xlarge"]

# --- overhead, as it was drawn --------------------------------------------------------------------


@question("11b/overhead")
def overhead_share(share, before, after):
    """Return the per cent of communication if each instance keeps its work."""
    wires = after.network_bits_per_s / before.network_bits_per_s
    arithmetic = after.peak_flops / before.peak_flops
    weak, strong = (overhead(share, KEYNOTE, kind) for kind in ("weak", "strong"))
    readings = ("as drawn", "each keeps its work", "all share one batch")
    rows, bars = [], {}
    for bar, other, said in zip(weak, strong, _SAID.values(), strict=True):
        shares = (said, bar.share, other.share)
        rows.append((bar.generation, *shares))
        for reading, value in zip(readings, shares, strict=True):
            bars[f"{bar.generation.name.split('.')[0]}, {reading}"] = 100 * value
    return Answer(
        round(100 * overhead(share, (before, after), "weak")[1].share, 1),
        wrong={
            "divided by the bandwidth": 100 * share / wires,
            "arithmetic stood still": 100 / (1 + wires),
            "as before": 100 * share,
            "the slide's figure": 100 * list(_SAID.values())[1],
        },
        terms={
            "wires": wires,
            "arithmetic": arithmetic,
            "as_fast_wires": 50 / wires,
            "as_fast_arithmetic": 50 / arithmetic,
        },
        show=lambda guess: numbers(_SHOWN["overhead"], rows, bars),
    )


# --- GPT-3 in two weeks ---------------------------------------------------------------------------


def _fewest(sequences_per_s, instances, sequence, days):
    """Return the fewest instances that train GPT-3 in so many days, scaled linearly."""
    return math.ceil(_TOKENS.value * instances / (sequences_per_s * sequence * days * _DAY_S))


def _of_peak(days):
    """Return which share of today's 190 TFLOPS a chip the keynote's instances have to reach."""
    return utilisation(replace(KEYNOTE[-1], peak_flops=_TRN1.peak_flops.value), days)


@question("11b/two-weeks")
def two_weeks(sequences_per_s, instances, sequence, days):
    """Return the instances that train GPT-3's tokens in so many days, scaled linearly."""
    needed = _fewest(sequences_per_s, instances, sequence, days)
    alone = _TOKENS.value / (sequences_per_s * sequence) / _DAY_S
    counts = (instances, _COUNTS["trn1"], needed)
    taken = {n: alone * instances / n for n in counts}
    reached = _of_peak(alone) * counts[1] / instances
    bars = {f"{n} instances": days for n, days in taken.items()}
    return Answer(
        needed,
        wrong={
            "the keynote's number": _COUNTS["trn1"],
            "sequences for tokens": _fewest(sequences_per_s, instances, 1, days),
            "rounded down": needed - 1,
            "at the peak": round(_COUNTS["trn1"] * _of_peak(days)),
            "of the 32": _fewest(sequences_per_s, 1, sequence, days),
        },
        terms={"alone": alone, "count": counts[1], "days": alone * instances / counts[1]},
        show=lambda guess: [
            numbers(_SHOWN["weeks"], taken.items(), bars),
            _SHOWN["two-weeks"].format(reached, counts[1], days, _of_peak(days)),
        ],
    )


# --- what 22 % faster saves -----------------------------------------------------------------------


@question("11b/sooner")
def sooner(ours, theirs):
    """Return by how many per cent one job's billable seconds are more than the other's."""
    iterations, fixed = CLAIMS.sagemaker_iterations.value, CLAIMS.sagemaker_fixed_s.value
    instances = PRICES["trn1.32xlarge"], PRICES["p4d.24xlarge"]
    prices = [instance.sagemaker_usd_per_hour.value for instance in instances]
    printed = CLAIMS.sagemaker_cost_trn1.value, CLAIMS.sagemaker_cost_p4d.value
    names = "ml.trn1.32xl", "ml.p4d.24xl"
    seconds = {"trn1": ours, "p4d": theirs}
    bars = {n: {"iterations": s - fixed, "all else": fixed} for n, s in seconds.items()}
    bills = zip(names, (ours, theirs), prices, printed, strict=True)
    rows = [(name, s, price, price * s / 3600, said) for name, s, price, said in bills]
    return Answer(
        round(100 * (theirs / ours - 1), 1),
        wrong={
            "the rate is the time": 100 * (CLAIMS.sagemaker_rate_ratio.value - 1),
            "the price": 100 * (prices[1] / prices[0] - 1),
        },
        terms={"iterations": iterations, "fixed": fixed, "ratio": fixed / ours},
        show=lambda guess: numbers(_SHOWN["bill"], rows, bars),
    )


# --- six headlines --------------------------------------------------------------------------------


def _verdict(key: str) -> Question:
    """Return the question for the verdict on a headline."""
    claim, says = COURT[key], words_of(__file__)["headlines"][key]
    words = {
        "ask": f"“{claim.text}”: your verdict?",
        "options": list(map(str, Verdict)),
        "wrong": [
            {"name": f"{option}: {key}", "option": option, "says": said}
            for option, said in says.items()
        ],
    }

    @question(f"11b/{key.replace('_', '-')}", words)
    def verdict():
        ruling = judge(key)

        def printed(guess):
            """Return the court's picture, and the ruling as a text to share."""
            you = f"You said: {guess}." if guess else ""
            head = f"THE CLAIMS COURT: {ruling.verdict.upper()}"
            text = "\n".join(filter(None, [head, f"{claim}", ruling.sentence, you]))
            return [court(key), Numbers(text, fold="The verdict, to share")]

        return Answer(str(ruling.verdict), show=printed)

    return verdict


headlines = tuple(map(_verdict, words_of(__file__)["headlines"]))
