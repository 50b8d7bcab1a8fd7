"""Which plans fit, and the best of them; judges: every plan tried, arithmetic, AWS's own choices.

``every`` builds plans from all numbers up to the limits, without divisors, bounds or halving, and
keeps what a plan and the model accept.  AWS's degrees are those of its table of benchmarks
(`aws-trn1-benchmarks`); how far they are from the best plan found is recorded here.
"""

import itertools
import math
import re
import time
from dataclasses import replace

import pytest

from tests.for_each import for_each, for_rows, raises
from tests.texts import rows_beside
from trainium_edu import cluster as clusters
from trainium_edu.cluster import Cluster, PlanError, fits, get_model, memory, smallest, step_time

TABLES = rows_beside(__file__, "plans.toml")

GiB = 2**30
TINY = clusters.Transformer("tiny", 8, 512, 8, 256, 1000)
TEN_TRILLION = get_model("gpt-10t")


def on(count, model, instance="trn1.32xlarge", **settings):
    """Return the best plan on some instances; an empty tuple where nothing divides."""
    try:
        return fits(model, Cluster(instance, count), most=1, **settings)
    except PlanError:
        return ()


def every(model, cluster, batch, **settings):
    """Yield every plan that divides, with (ns of a step, bytes, plan)."""
    ranks, words = cluster.ranks, ("none", "selective", "full")
    degrees = [(t, p) for t in range(1, ranks + 1) for p in range(1, model.layers + 1)
               if ranks % (t * p) == 0]  # fmt: skip
    sizes = [n for n in range(1, batch + 1) if batch % n == 0]
    for (t, p), size, zero, split, again, parts in itertools.product(
        degrees, sizes, range(4), (False, True), words, (1, 2, 4)
    ):
        try:
            more = settings | {"interleave": parts}
            plan = clusters.Plan(cluster, t, p, zero, split, size, batch, again, **more)
            plan.check(model)
        except PlanError:
            continue
        held = memory(model, plan)
        yield plan, held, step_time(model, plan).step_ns if held.fits else math.inf


SMALL = [
    (get_model("bert-large"), Cluster("trn1.2xlarge"), 16, {}),
    (get_model("vit-base"), Cluster("trn1.2xlarge", 2), 8, {}),
    (get_model("gpt3-6.7b"), Cluster("trn1.32xlarge"), 16, {}),
    (get_model("gpt3-6.7b"), Cluster("trn1.32xlarge"), 16, {"flash_attention": True}),
    (get_model("gpt3-6.7b"), Cluster("inf2.48xlarge"), 12, {"optimizer": "lamb"}),
    (get_model("llama2-7b"), Cluster("trn1.32xlarge"), 16, {"precision": "bf16-master"}),
    (get_model("gpt3-23b"), Cluster("trn1.32xlarge", 4), 32, {}),
    (TINY, Cluster("trn1.32xlarge"), 8, {"precision": "fp32"}),
]


@for_each("model, cluster, batch, settings", SMALL)
def test_no_plan_beats_the_best_found(model, cluster, batch, settings):
    tried = [
        (ns, held.total) for _, held, ns in every(model, cluster, batch, **settings) if held.fits
    ]
    tried.sort()
    found = fits(model, cluster, global_batch=batch, most=5, **settings)
    front, least = [], math.inf
    for ns, total in tried:  # as time grows, only what needs less memory than all before
        if total < least:
            front.append((ns, total))
            least = total
    assert [(o.step_ns, o.memory.total) for o in found] == front[:5]


@for_rows("precision", "bf16-master", "fp32")
def test_no_other_precision_beats_the_one_that_is_tried(precision):
    cluster = Cluster("trn1.2xlarge", 2)
    for plan, held, ns in every(TINY, cluster, 8):
        other = replace(plan, precision=precision)
        assert held.total <= memory(TINY, other).total
        assert ns <= step_time(TINY, other).step_ns


@for_each("model, cluster, batch, settings", SMALL[:3])
def test_every_plan_is_counted_once(model, cluster, batch, settings):
    tried = [(plan, held) for plan, held, _ in every(model, cluster, batch, **settings)
             if plan.sequence_parallel == (plan.tensor > 1 and model.sequence % plan.tensor == 0)
             and (plan.data > 1 or plan.zero == 0)]  # fmt: skip
    over = [held.over / GiB for _, held in tried if not held.fits]
    why = fits(model, cluster, global_batch=batch, **settings).why_not
    numbers = [int(n.replace(" ", "")) for n in re.findall(r"(\d[\d ]*) (?:plans|over|fit)", why)]
    assert numbers == [n for n in (len(tried), len(over), len(tried) - len(over)) if n]
    assert not over or f"the nearest by {min(over):.2f} GiB" in why


#: AWS's rows: model, precision, instances, tensor and pipeline; how much longer a step of the best
#: plan with these degrees takes than that of the best of all, as of today's model of a step.
AWS = TABLES["aws"]


@for_each("model, precision, instances, tensor, pipeline, away", AWS)
def test_published_plans_fit_and_are_near_the_best(
    model, precision, instances, tensor, pipeline, away
):
    cluster = Cluster("trn1.32xlarge", instances)
    theirs = fits(
        model, cluster, most=1, precision=precision, micro_batch=1, tensor=tensor, pipeline=pipeline
    ).best
    best = fits(model, cluster, most=1, precision=precision).best
    assert theirs.memory.fits
    ratio = theirs.step_ns / best.step_ns
    assert ratio >= 1
    assert ratio == pytest.approx(away, abs=0.08)
    assert theirs.time.low_ns < best.step_ns  # the rest lies within the band of a step's time


@for_rows("precision", "bf16-sr", "bf16-master", "fp32")
@for_rows("model", "gpt3-23b", "gpt3-175b", "llama2-70b")
def test_the_bound_is_bytes_over_hbm(model, precision):
    each = {"bf16-sr": 2 + 2 + 2 * 2, "bf16-master": 2 + 2 + 4 + 2 * 4, "fp32": 4 + 4 + 2 * 4}
    exact = clusters.work(model).parameters * each[precision] / (512 * GiB)
    assert clusters.at_least(model, precision=precision) == math.ceil(exact)
    best = smallest(model, precision=precision)
    assert best.memory.fits
    assert best.plan.cluster.instances >= math.ceil(exact)


@for_rows("model, batch", ("gpt3-23b", 16), ("gpt3-175b", 12), (TINY, 4))
def test_on_fewer_instances_than_the_smallest_nothing_fits(model, batch):
    instance = "trn1.2xlarge" if model is TINY else "trn1.32xlarge"
    found = smallest(model, instance, global_batch=batch)
    for count in range(1, found.plan.cluster.instances):
        assert not on(count, model, instance, global_batch=batch)


def test_ten_trillion_parameters_fit_on_192_instances_and_on_none_fewer():
    bound = clusters.at_least(TEN_TRILLION)
    assert bound == math.ceil(8 * clusters.work(TEN_TRILLION).parameters / (512 * GiB)) == 145
    found = smallest(TEN_TRILLION)
    plan = found.plan
    assert (plan.cluster.instances, plan.data, plan.recompute) == (192, 1, "full")
    assert plan.tensor * plan.pipeline == 192 * 32
    assert found.memory.fits
    assert "alone need 145 x trn1.32xlarge" in found.reason
    assert len(fits(TEN_TRILLION, Cluster(instances=128))) == 0
    raises(PlanError, "no plan divides", fits, TEN_TRILLION, Cluster(instances=150))


def test_smallest_in_time_finishes_in_time_and_no_fewer_instances_do():
    asked = {"tokens": 300e9, "days": 60.0, "global_batch": 64}
    found = smallest("gpt3-23b", **asked)
    count = found.plan.cluster.instances

    def days(option):
        return asked["tokens"] / option.time.tokens_per_s / 86400

    assert days(found) <= 60
    for fewer in range(1, count):
        assert all(days(option) > 60 for option in on(fewer, "gpt3-23b", global_batch=64))
    assert f"{count} x trn1.32xlarge need {days(found):,.1f} days" in found.reason


def test_what_fits_nowhere_says_which_number_by_how_much_and_what_would_do():
    plans = fits("gpt3-175b", Cluster(instances=2))
    held = plans.nearest.memory
    least = min(held.total for _, held, _ in every(get_model("gpt3-175b"), Cluster(instances=2), 2))
    assert fits("gpt3-175b", Cluster(instances=2), global_batch=2).nearest.memory.total == least
    assert held.over == held.total - 16 * GiB > 0
    for words in (f"{held.over / GiB:.1f} too many", f"{held.total / GiB:.1f} GiB",
                  f"{getattr(held, held.largest) / GiB:.1f} are {held.largest}",
                  "3 instances would do", "2 x trn1.32xlarge"):  # fmt: skip
        assert words in plans.why_not
    assert not plans
    raises(clusters.NothingFits, "gpt3-175b does not fit 2 x", lambda: plans.best)


@for_each("model, instances, settings", TABLES["forbidden"])
def test_the_first_reason_names_what_memory_forbids(model, instances, settings):
    best = fits(model, Cluster(instances=instances), **settings).best
    said = re.match(r"fastest; (.+?) it would be ([\d.]+)% faster, but ([\d.]+) GiB too large; "
                    r"its time: ", best.reason)  # fmt: skip
    if said is None:
        assert "no single change that memory forbids would make it faster" in best.reason
        return
    words, faster, over = said.groups()
    kind, number = re.match(r"(\D+?)-?(\d*)$", words).groups()
    name = {"with tensor ": "tensor", "with pipeline ": "pipeline", "with ZeRO": "zero",
            "with micro-batches of ": "micro_batch", "without recomputation": "recompute",
            "recomputing attention's scores only": "recompute"}[kind]  # fmt: skip
    value = int(number) if number else {"w": "none", "r": "selective"}[kind[0]]
    other = replace(best.plan, **{name: value})
    assert memory(model, other).over / GiB == pytest.approx(float(over), abs=0.06)
    gain = best.step_ns / step_time(model, other).step_ns - 1
    assert gain == pytest.approx(float(faster) / 100, abs=0.0006)


def test_later_reasons_say_what_they_give_and_take():
    found = fits("gpt3-175b", Cluster(instances=32), most=6)
    best = found.best
    assert len(found) == 6
    for option in found[1:]:
        slower = option.step_ns / best.step_ns - 1
        lighter = (best.memory.total - option.memory.total) / GiB
        assert option.reason.startswith(f"{slower:.1%} slower than the first and {lighter:.1f} GiB")
        assert " instead of " in option.reason
    text = str(found)
    assert text.count("\n") == 2 * 6 + 1
    assert all(option.reason in text for option in found)
    assert str(best).startswith(str(best.plan))


def test_what_is_given_is_kept():
    given = {"tensor": 8, "pipeline": 4, "zero": 1, "micro_batch": 2, "recompute": "full",
             "interleave": 1, "precision": "fp32", "optimizer": "sgd", "flash_attention": True,
             "global_batch": 256}  # fmt: skip
    best = fits("gpt3-23b", Cluster(instances=8), **given).best
    assert {name: getattr(best.plan, name) for name in given} == given
    rules = clusters.Rules(efficiency=0.1)
    slow = fits("gpt3-23b", Cluster(instances=8), rules=rules, **given).best
    assert slow.step_ns > best.step_ns


@for_rows("instances, batch", (10**6, 10**6), (999_983, 1024), (10**6, 10**9))
def test_giant_clusters_are_searched_by_divisors_alone(instances, batch):
    start = time.process_time()
    if instances == 10**6:
        assert on(instances, "gpt3-175b", global_batch=batch)
    else:
        with pytest.raises(PlanError, match="another number of instances"):
            fits("gpt3-175b", Cluster(instances=instances), global_batch=batch)
    assert time.process_time() - start < 5  # about 0.5 s; a loop over ranks would take minutes


def test_a_175b_model_on_4096_chips_is_planned_at_once():
    start = time.process_time()
    found = fits("gpt3-175b", Cluster(instances=256), rules=clusters.Rules(host_ns=1e6))
    assert time.process_time() - start < 3  # 0.2 to 0.5 s on an idle machine
    assert Cluster(instances=256).chips == 4096
    assert len(found) == 10


def test_an_interrupted_search_can_be_asked_again(monkeypatch):
    from trainium_edu.cluster import search

    asked, count = search.memory, itertools.count()

    def interrupted(*arguments):
        if next(count) == 100:
            raise KeyboardInterrupt
        return asked(*arguments)

    monkeypatch.setattr(search, "memory", interrupted)
    raises(KeyboardInterrupt, "", fits, "gpt3-46b", Cluster(instances=8), global_batch=768)
    monkeypatch.undo()
    assert fits("gpt3-46b", Cluster(instances=8), global_batch=768).best.memory.fits


def test_what_is_beyond_all_bounds_is_refused_at_once():
    """Ten million layers: nothing may be listed layer by layer."""
    absurd = clusters.Transformer("absurd", 10**7, 10**7, 10**7, 10**7, 10**7)
    began = time.process_time()
    why = fits(absurd, Cluster()).why_not
    assert time.process_time() - began < 5  # half a minute when layers were listed
    assert "absurd does not fit 1 x trn1.32xlarge" in why
    assert "absurd fits no number of trn1.32xlarge" in why
