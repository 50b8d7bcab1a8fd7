"""Questions of lesson 11b: overhead as it was drawn, two weeks, 22 % faster, twelve headlines.

The verdict on a headline is computed where it is revealed; here stand only what people believe.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from trainium_edu.cluster import COURT, KEYNOTE, judge, overhead, utilisation
from trainium_edu.cluster.court import Verdict
from trainium_edu.exercises.predict import Answer, Misconception, Question, question
from trainium_edu.specs import CLAIMS, INSTANCES, PRICES, SOURCES
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.cluster import court

_DAY_S = 86_400
_TOKENS = SOURCES["gpt3-paper"].says(300e9, "tokens", "training")
_SAID = dict(CLAIMS.communication_share.value)
_COUNTS = dict(CLAIMS.two_week_instances.value)
_TRN1 = INSTANCES["trn1.32xlarge"]

# --- overhead, as it was drawn --------------------------------------------------------------------


def _faster(before, after):
    """Return by what an instance has more network and more arithmetic than an earlier one."""
    wires = after.network_bits_per_s / before.network_bits_per_s
    return wires, after.peak_flops / before.peak_flops


@question(
    "11b/overhead",
    "Half of P3dn's step is communication. Each instance keeps its work: what share of P4d's is?",
    unit="%",
    most=100,
    wrong=[
        Misconception("divided by the bandwidth", lambda share, before, after: 100 * share
                      / _faster(before, after)[0], "You divided the share. But the step is shorter"
                      " too, for computing also became faster, and a share is of what is left."),
        Misconception("arithmetic stood still", lambda share, before, after: 100
                      / (1 + _faster(before, after)[0]), "The network is four times as fast, yes."
                      " But computing shrank as well, and the shorter it is, the more the network"
                      " weighs."),
        Misconception("as before", lambda share, before, after: 100 * share, "That would be so if"
                      " network and arithmetic had grown by the same factor. The network grew"
                      " more."),
    ],
)  # fmt: skip
def overhead_share(share, before, after):
    """Return the per cent of communication if each instance keeps its work."""
    wires, arithmetic = _faster(before, after)
    weak, strong = (overhead(share, KEYNOTE, kind) for kind in ("weak", "strong"))
    rows = [f"{'':24}{'as drawn':>9}{'each keeps its work':>22}{'all share one batch':>22}"]
    rows += [
        f"{bar.generation.instances:4} x {bar.generation.name:17}{said:9.0%}{bar.share:22.1%}"
        f"{other.share:22.1%}"
        for bar, other, said in zip(weak, strong, _SAID.values(), strict=True)
    ]
    return Answer(
        round(100 * overhead(share, (before, after), "weak")[1].share, 1),
        f"{wires:.3g} times the network, {arithmetic:.2g} times the arithmetic: communication goes"
        f" from 50 to {50 / wires:.3g}, computing from 50 to {50 / arithmetic:.2g}.",
        lambda guess: [
            "\n".join(rows),
            Prose("**The other reading.** The report names 600, 200 and 130 instances for one"
                  " model. If all of them share *one* batch, fewer instances compute longer each,"
                  " and communication weighs less. That lands beside the bars; the first reading"
                  " does not. Nobody said which was meant."),
        ],
    )  # fmt: skip


# --- GPT-3 in two weeks ---------------------------------------------------------------------------


def _needed(tokens_per_s, days):
    """Return how many of what makes so many tokens per second train GPT-3 in so many days."""
    return round(_TOKENS.value / tokens_per_s / (days * _DAY_S))


def _of_peak(days):
    """Return which share of today's 190 TFLOPS a chip the keynote's instances have to reach."""
    return utilisation(replace(KEYNOTE[-1], peak_flops=_TRN1.peak_flops.value), days)


@question(
    "11b/two-weeks",
    "At that speed, how many trn1.32xlarge train GPT-3 (300 billion tokens) in two weeks?",
    unit="instances",
    whole=True,
    wrong=[
        Misconception("the keynote's number", lambda sequences_per_s, instances, sequence, days:
                      _COUNTS["trn1"], "That is what the keynote said, before the chip was on"
                      " sale. The row above came later, from the chip."),
        Misconception("sequences for tokens", lambda sequences_per_s, instances, sequence, days:
                      _needed(sequences_per_s / instances, days),
                      "The row counts sequences, and each is 2 048 tokens."),
        Misconception("at the peak", lambda sequences_per_s, instances, sequence, days:
                      round(_COUNTS["trn1"] * _of_peak(days)),
                      "That is the work over the peak, as if no chip ever waited."),
        Misconception("of the 32", lambda sequences_per_s, instances, sequence, days:
                      _needed(sequences_per_s * sequence, days),
                      "That is how many times the 32 instances of the row; you are asked for"
                      " instances."),
    ],
)  # fmt: skip
def two_weeks(sequences_per_s, instances, sequence, days):
    """Return the instances that train GPT-3's tokens in so many days, scaled linearly."""
    rate = sequences_per_s * sequence
    alone = _TOKENS.value / rate / _DAY_S
    counts = (instances, _COUNTS["trn1"], needed := _needed(rate / instances, days))
    return Answer(
        needed,
        f"{instances} instances take {alone:.0f} days. If twice as many were twice as fast,"
        f" {_COUNTS['trn1']} would take {alone * instances / _COUNTS['trn1']:.0f}.",
        lambda guess: [
            "instances    days\n" + "\n".join(f"{n:9}{alone * instances / n:8.0f}" for n in counts),
            f"of the peak of 190 TFLOPS a chip: {_of_peak(days) * counts[1] / needed:.1%} in the"
            f" published row, {_of_peak(days):.1%} for {counts[1]} instances in {days} days",
        ],
    )  # fmt: skip


# --- what 22 % faster saves -----------------------------------------------------------------------


def _prices():
    return [PRICES[name].sagemaker_usd_per_hour.value for name in ("trn1.32xlarge", "p4d.24xlarge")]


@question(
    "11b/sooner",
    "22 % more iterations a second. By how much is P4d's job longer than Trn1's, start to end?",
    unit="%",
    above=-1,
    wrong=[
        Misconception("the rate is the time", lambda ours, theirs:
                      100 * (CLAIMS.sagemaker_rate_ratio.value - 1), "That holds while it iterates."
                      " A job also starts machines, fetches data, compiles and saves, and pays for"
                      " all of it by the second."),
        Misconception("the price", lambda ours, theirs: 100 * (_prices()[1] / _prices()[0] - 1),
                      "That is how much more P4d's hour costs. The question is how long."),
    ],
)  # fmt: skip
def sooner(ours, theirs):
    """Return by how many per cent one job's billable seconds are more than the other's."""
    iterations, fixed = CLAIMS.sagemaker_iterations.value, CLAIMS.sagemaker_fixed_s.value
    prices = _prices()
    bills = [prices[0] * ours / 3600, prices[1] * theirs / 3600]
    return Answer(
        round(100 * (theirs / ours - 1), 1),
        f"{ours:,} and {theirs:,} billable seconds. Equal jobs and equal fixed time explain both:"
        f" {iterations:,.0f} iterations and {fixed:,.0f} s beside them, {fixed / ours:.0%} of the"
        " bill.",
        lambda guess: [
            "              seconds   USD per hour    bill, USD   printed\n"
            + "\n".join(
                f"{name:14}{s:7,}{price:15.3f}{bill:13.3f}{printed:10}"
                for name, s, price, bill, printed in (
                    ("ml.trn1.32xl", ours, prices[0], bills[0], CLAIMS.sagemaker_cost_trn1.value),
                    ("ml.p4d.24xl", theirs, prices[1], bills[1], CLAIMS.sagemaker_cost_p4d.value),
                )
            ),
        ],
    )  # fmt: skip


# --- twelve headlines -----------------------------------------------------------------------------

_OPTIONS = {
    Verdict.CONSISTENT: "consistent",
    Verdict.ONLY_UNDER: "only under a condition",
    Verdict.CONFLICTING: "conflicting",
    Verdict.UNTESTABLE: "untestable",
}


def _said_of(words) -> Callable:
    return lambda: words


def _headline(key: str, **says: str) -> Question:
    """Return the question of a headline: its verdict, and what each other one leaves out.

    Parameters
    ----------
    key : str
        Of ``cluster.claims.COURT``.
    **says : str
        Sentences to those who take another verdict, by its name.
    """
    claim = COURT[key]
    wrong = [
        Misconception(f"{words}: {key}", _said_of(words), says[verdict.name])
        for verdict, words in _OPTIONS.items() if verdict.name in says
    ]  # fmt: skip

    @question(f"11b/{key.replace('_', '-')}", f"“{claim.text}” ({claim.source}, {claim.when})",
              options=tuple(_OPTIONS.values()), wrong=wrong)  # fmt: skip
    def verdict():
        ruling = judge(key)
        said = [f"“{claim.text}” ([{claim.source}]({SOURCES[claim.source].url}))."]
        if not math.isnan(ruling.value):
            between = f", {claim.written(ruling.low)} to {claim.written(ruling.high)} over all that"
            between += " the sources allow"
            said += [f"It gives {claim.written(ruling.value)}"
                     + between * (ruling.low < ruling.high) + "."]  # fmt: skip
        missing = " and ".join(each.name for each in ruling.inputs if not each.fact)
        if missing:
            said += [f"Nobody published {missing}; it would be right under {ruling.condition}."]
        elif ruling.condition:
            said += [f"It is right under {ruling.condition}."]
        return Answer(_OPTIONS[ruling.verdict], " ".join(said), lambda guess: court(key))

    return verdict


processors = _headline(
    "processors",
    ONLY_UNDER="Under which? Two NeuronCores, a GpSimd Engine in each, eight processors in that:"
    " none of these numbers has a range.",
    CONFLICTING="You may have counted chips, or engines. Each of two NeuronCores has a GpSimd"
    " Engine, and each of those has eight processors.",
    UNTESTABLE="Both numbers are documented: NeuronCores on a chip, and processors in a GpSimd"
    " Engine. Multiply.",
)
petaflops = _headline(
    "petaflops",
    CONSISTENT="With 210 TFLOPS a chip it is 3.36. Today's pages say 190, and 16 of those are"
    " 3.04.",
    CONFLICTING="With today's 190 TFLOPS a chip, yes. The launch pages had 210, and with that it"
    " holds.",
    UNTESTABLE="Chips and their peak are both published. That the peak is published three times is"
    " another matter.",
)
one_peak = _headline(
    "one_peak_for_all",
    CONSISTENT="Each of the three is right of some peak: 210, 190 or 184 TFLOPS a chip. Not of the"
    " same one.",
    ONLY_UNDER="That would take a peak for which all three come out. From 184 to 210 TFLOPS there"
    " is none: at least one always misses.",
    UNTESTABLE="All peaks are published, Trn1's and P4d's, in three formats. Divide.",
)
more_memory = _headline(
    "memory_over_p4d",
    ONLY_UNDER="512 by 320, as both pages print them: neither has a range. If one means GiB and the"
    " other GB, it is a little more.",
    CONFLICTING="Divide what is printed: 512, and eight times 40.",
    UNTESTABLE="Both sizes are on the makers' pages: 16 times 32, and 8 times 40.",
)
small_network = _headline(
    "small_network",
    CONSISTENT="The launch post says so, and another post after it. Every edition of the"
    " documentation says 25.",
    ONLY_UNDER="No assumption turns 25 into 12.5: both are printed as the limit of one and the"
    " same instance.",
    UNTESTABLE="The documentation has the number in each edition, and it is another one.",
)
network = _headline(
    "network_over_p4d",
    CONSISTENT="800 by 400 is two. Four takes 1 600 Gbit/s: that is another instance, trn1n, which"
    " came later.",
    CONFLICTING="Of trn1.32xlarge, yes: there it is two. But trn1n has 1 600 Gbit/s, and then it is"
    " four.",
    UNTESTABLE="The bandwidths of all three instances can be had. Divide.",
)
bert = _headline(
    "gpt3_over_bert",
    ONLY_UNDER="Both counts are in the papers, without a range: 175 billion, and 340 million.",
    CONFLICTING="175 billion by 340 million is 515: as near to 500 as a headline has to be.",
    UNTESTABLE="Both papers count their parameters. Divide.",
)
decades = _headline(
    "decades_on_p4d",
    CONSISTENT="At P4d's peak it takes four years. Two decades take a fifth of the peak, or less:"
    " a run that nobody tuned.",
    CONFLICTING="At the peak, yes: four years. But nobody reaches the peak, and at a fifth of it"
    " four years become twenty.",
    UNTESTABLE="The work is published, 3.14e23 FLOP, and so is the peak. What share of it is"
    " reached, that is the question.",
)
four_times = _headline(
    "p4d_compute_over_p3dn",
    CONSISTENT="Dense FP16 went from 1 000 to 2 496 TFLOPS. What became four times as fast is the"
    " network.",
    ONLY_UNDER="None of these peaks has a range. Four times is right of the network, and that is"
    " not what was said.",
    UNTESTABLE="Both peaks are on NVIDIA's data sheets: eight times 125, and eight times 312.",
)
dice = _headline(
    "stochastic_rounding",
    CONSISTENT="It may well be true. But there is no table with a speed with it and a speed"
    " without.",
    ONLY_UNDER="Under which? It takes a speed with dice and one without, and nobody published"
    " either.",
    CONFLICTING="Nothing contradicts it either: nobody published what one would have to divide.",
)
half_the_cost = _headline(
    "cheaper_by",
    CONSISTENT="An hour costs two thirds, not half. The rest has to be speed, and the post has no"
    " table of speeds.",
    ONLY_UNDER="If it is 1.25 to 1.38 times as fast, yes. But the post names no model and no speed,"
    " so there is nothing to hold against that.",
    CONFLICTING="“Up to”, and no table: nothing contradicts it. A table came later, and with it the"
    " next headline.",
)
half_of_bert = _headline(
    "sagemaker_cheaper",
    CONSISTENT="Divide the two bills of the table: 39.5 % less, and 34 points of that are the price"
    " of an hour.",
    ONLY_UNDER="Even if nothing but iterations counted, it would be 46 %. For 50 it takes 1.31"
    " times P4d's speed, and the table has 1.22.",
    UNTESTABLE="It stands beside a table with seconds, prices and both bills. Divide them.",
)
