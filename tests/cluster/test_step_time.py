"""What a step takes.

Judges: the closed form of the pipeline bubble (Narayanan et al. 2021), FLOP over the array's peak,
bytes over the documented rate, the engines' documented cycles.
"""

from dataclasses import replace

import pytest

from tests.for_each import for_each, for_rows
from trainium_edu import cluster
from trainium_edu.cluster import MODELS, PARTS, Cluster, Plan, Rules, compare, step_time, work
from trainium_edu.cluster.step_time import ELEMENTWISE, products
from trainium_edu.specs import BENCHMARKS, TRN1

GPT = MODELS["gpt3-23b"]
PLAN = Plan(Cluster(instances=32), tensor=8, pipeline=4, sequence_parallel=True)
ONE = Plan(Cluster("trn1.2xlarge"), micro_batch=2, global_batch=64)
TINY = replace(GPT, name="tiny", layers=1, hidden=1024, heads=8, kv_heads=0, ffn=0, sequence=1024)


def test_the_parts_add_up_to_the_step():
    time = step_time(GPT, PLAN)
    assert tuple(time.parts) == PARTS
    assert sum(time.parts.values()) == pytest.approx(time.step_ns)
    assert time.low_ns < time.step_ns < time.high_ns
    assert time.samples_per_s * time.step_ns / 1e9 == pytest.approx(PLAN.global_batch)
    assert time.why.split(":")[0] in {
        f"{time.parts[name] / time.step_ns:.0%} of the step is {name}" for name in PARTS[1:]
    }


def test_no_remedy_is_told_that_the_plan_already_has():
    rules = Rules(passes=100.0)  # so that the other engines take most
    for recompute, flash, told, left in [
        ("none", False, "flash", "recompute"), ("full", False, "recompute less, or", "no choice"),
        ("full", True, "recompute less", "flash"), ("none", True, "no choice", "recompute"),
    ]:  # fmt: skip
        plan = replace(PLAN, recompute=recompute, flash_attention=flash)
        why = step_time(GPT, plan, rules=rules).why
        assert told in why
        assert left not in why.partition(told)[2]
        assert left not in why.partition(told)[0]


@for_each("row", BENCHMARKS, ids=lambda row: row.name)
def test_the_tensor_engine_never_beats_its_array(row):
    model, plan, rules = cluster.setup(row)
    step = work(model, recompute=plan.recompute, flash_attention=plan.flash_attention)
    flops = step.flops
    if plan.recompute == "full":  # the last linear layer of a block is not made again
        flops -= next(part for part in step.parts if part.name == "mlp out").forward_flops
    rate = flops * plan.global_batch / float(TRN1.tensor_engine.peak_flops_from_array)
    at_peak = rate / plan.cluster.ranks * 1e9
    taken = step_time(model, plan, rules=replace(rules, straggling=1.0)).parts["Tensor Engine"]
    assert 0.97 * at_peak <= taken <= 1.8 * at_peak  # embedding and norms of heads are left out


@for_rows("tensor", 1, 8)
@for_rows("size", 0, 64, 256)
def test_products_of_a_block_are_the_flops_of_its_work(size, tensor):
    model = replace(TINY, head_size=size)
    plan = Plan(Cluster(), tensor=tensor, micro_batch=2, global_batch=64)
    found = sum(2 * m * k * n * count for _, m, k, n, count in products(model, plan))
    blocks = [part for part in work(model, batch=2).parts if part.in_blocks]
    assert tensor * found == sum(part.forward_flops for part in blocks)


def test_heads_of_64_leave_half_of_the_array_s_rows_empty():
    """Two of attention's six products contract over a head: they take twice their FLOP's time."""
    wide, narrow = (
        step_time(replace(TINY, heads=heads, kv_heads=0), ONE).parts["Tensor Engine"]
        for heads in (8, 16)
    )
    product = 2 * TINY.sequence**2 * TINY.hidden / float(TRN1.tensor_engine.peak_flops_from_array)
    samples = ONE.global_batch / ONE.data
    assert (narrow - wide) / 1e9 == pytest.approx(2 * samples * product)


def test_fp32_products_take_four_times_unless_the_compiler_casts_them():
    fp32 = replace(ONE, precision="fp32")
    bf16 = step_time(TINY, ONE).parts["Tensor Engine"]
    assert step_time(TINY, fp32).parts["Tensor Engine"] == bf16
    exact = step_time(TINY, fp32, rules=Rules(auto_cast=False)).parts["Tensor Engine"]
    assert exact == pytest.approx(4 * bf16)


@for_rows("recompute, times", ("none", 6), ("full", 7))
def test_weights_pass_through_the_dma_engines_at_their_sustained_rate(recompute, times):
    plan = replace(ONE, recompute=recompute)
    bytes_ = times * 2 * work(TINY).parameters * plan.micro_batches
    ns = step_time(TINY, plan).parts["weights to and from HBM"]
    assert ns == pytest.approx(bytes_ / 272e9 * 1e9)


def test_only_passes_that_a_model_has_are_counted():
    words = {when for *_, when in ELEMENTWISE}
    assert words == {"", "layer", "rms", "dropout", "rotary", "split", "eager", "plain", "gated"}
    other = {
        name: step_time(replace(TINY, dropout=drops), ONE, rules=Rules(attention=how)).parts[
            "other engines"
        ]
        for name, drops, how in (
            ("fused", False, "fused"), ("split", False, "split"), ("eager", False, "eager"),
            ("drops", True, "eager"),
        )
    }  # fmt: skip
    assert list(other.values()) == sorted(other.values())
    per_pass = (other["eager"] - other["split"]) / 3  # two forward, one backward
    assert (other["split"] - other["fused"]) / 7 == pytest.approx(per_pass)


def test_flash_attention_skips_what_the_mask_hides():
    kept = replace(ONE, recompute="selective")
    plain, flash = (
        step_time(TINY, replace(kept, flash_attention=on)).parts["Tensor Engine"]
        for on in (False, True)
    )
    product = 2 * TINY.sequence**2 * TINY.hidden / float(TRN1.tensor_engine.peak_flops_from_array)
    tiles = TINY.sequence // 128
    computed = (tiles + 1) / 2 / tiles  # of the tiles, those on the diagonal and below
    samples, products_ = ONE.global_batch / ONE.data, 2 + 4 + 2  # forward, backward, again
    assert (plain - flash) / 1e9 == pytest.approx(samples * products_ * product * (1 - computed))


@for_rows("stages", 2, 4, 8)
@for_rows("interleave", 1, 2)
def test_the_bubble_is_stages_less_one_over_micro_batches(stages, interleave):
    plan = Plan(Cluster(instances=stages), tensor=32, pipeline=stages, interleave=interleave,
                global_batch=64)  # fmt: skip
    model = replace(GPT, layers=48)
    parts = step_time(model, plan).parts
    body = sum(parts[name] for name in PARTS[:5])
    expected = (stages - 1) / (plan.micro_batches * interleave)
    assert parts["pipeline bubble"] / body == pytest.approx(expected, rel=0.03)


def test_zero_divides_the_optimisers_work_and_pays_for_gathering_weights():
    whole, shared = (step_time(GPT, replace(PLAN, zero=zero)).parts for zero in (0, 1))
    assert whole["optimiser"] / shared["optimiser"] == pytest.approx(PLAN.data)
    two, three = (step_time(GPT, replace(PLAN, zero=zero)).parts for zero in (2, 3))
    held = work(GPT).parameters / 32 * 2
    once = cluster.placement(PLAN).collective_ns("data", "all_gather", held)
    apart = three["gradient sums"] - two["gradient sums"]
    assert apart == pytest.approx(2 * PLAN.micro_batches * once)


def test_a_given_efficiency_is_what_the_compute_reaches():
    plan = replace(PLAN, tensor=1, pipeline=1, sequence_parallel=False)
    model = MODELS["bert-large"]
    time = step_time(model, plan, rules=Rules(efficiency=0.4))
    from_peak = time.flops / (92e12 * plan.cluster.ranks) / 0.4 * 1e9
    assert time.parts["Tensor Engine"] == pytest.approx(from_peak, rel=0.15)  # beside the logits
    assert time.parts["other engines"] == time.parts["weights to and from HBM"] == 0


def test_all_wait_for_the_slowest():
    even, uneven = step_time(GPT, PLAN), step_time(GPT, PLAN, slowest=1.1)
    ratio = uneven.parts["Tensor Engine"] / even.parts["Tensor Engine"]
    assert ratio == pytest.approx(1.1)
    assert uneven.parts["pipeline bubble"] > even.parts["pipeline bubble"]


def test_the_band_holds_most_of_what_was_published():
    rows = [one for one in compare() if not one.row.conflict]
    inside = [
        one.time.low_ns <= one.time.plan.global_batch / one.published * 1e9 <= one.time.high_ns
        for one in rows
    ]
    assert sum(inside) / len(rows) >= 0.75
