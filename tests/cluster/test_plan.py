"""Plans must divide; judges: AWS's published degrees, arithmetic, Megatron-LM's numbering.

AWS trains GPT-3 175B with tensor 32, pipeline 8, data 4 on 32 trn1.32xlarge and Llama-2 70B with
tensor 32 and pipeline 8 (`aws-trn1-benchmarks`); Llama's 8 heads for keys and values are copied.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.cluster import MODELS, Cluster, Mlp, Plan, PlanError
from trainium_edu.specs import INSTANCES

FOUR = Cluster("trn1.32xlarge", 4)  # 128 NeuronCores


def test_a_cluster_counts_its_neuroncores_and_chips():
    assert (FOUR.ranks, FOUR.chips) == (4 * 32, 4 * 16)
    assert Cluster("trn1.2xlarge", 3).ranks == 6
    assert Cluster().instance == "trn1.32xlarge"


def test_what_tensor_and_pipeline_leave_is_data_parallel():
    plan = Plan(Cluster(instances=32), tensor=32, pipeline=8, micro_batch=2, global_batch=1024)
    assert plan.data == 4
    assert plan.micro_batches == 1024 // (4 * 2)
    assert plan.tensor * plan.pipeline * plan.data == plan.cluster.ranks


@for_rows("model, instances, tensor, pipeline",
    ("gpt3-175b", 32, 32, 8), ("gpt3-23b", 1, 8, 4), ("gpt3-46b", 4, 8, 8),
    ("llama2-70b", 32, 32, 8), ("llama2-70b", 32, 32, 4), ("llama2-7b", 16, 8, 1),
)  # fmt: skip
def test_published_degrees_divide(model, instances, tensor, pipeline):
    plan = Plan(Cluster(instances=instances), tensor, pipeline, 1, True)
    plan.check(MODELS[model])


def test_numbers_of_other_libraries_become_plain_ones():
    plan = Plan(Cluster(instances=np.int16(4)), tensor=np.int8(8), zero=np.uint8(1),
                global_batch=INSTANCES["trn1.32xlarge"].cores)  # fmt: skip
    kinds = (plan.cluster.instances, plan.tensor, plan.zero, plan.global_batch)
    assert all(type(value) is int for value in kinds)
    assert plan.cluster == FOUR
    assert hash(plan) == hash(Plan(FOUR, 8, zero=1, global_batch=32))


def test_a_plan_says_all_that_sets_it_apart():
    plain, full = Plan(FOUR), Plan(FOUR, 8, 4, 1, True, interleave=2, flash_attention=True)
    assert str(plain) == ("4 x trn1.32xlarge, tensor 1 x pipeline 1 x data 128, "
                          "micro-batch 1 of 1024, recompute none, bf16-sr, adamw")  # fmt: skip
    assert str(full) == (
        "4 x trn1.32xlarge, tensor 8 x pipeline 4 x data 4, ZeRO-1, sequence parallel, "
        "interleave 2, micro-batch 1 of 1024, recompute none, flash attention, bf16-sr, adamw"
    )


@for_rows("settings, says",
    ({"tensor": 32, "pipeline": 8}, "256 ranks for one replica, and 4 x trn1.32xlarge have 128"),
    ({"tensor": 3}, "128 ranks do not divide into replicas of 3 x 1 = 3"),
    ({"global_batch": 100}, "global batch of 100 does not divide among 128 replicas"),
    ({"micro_batch": 16}, "take a multiple of 2048"),
    ({"tensor": 8, "interleave": 2}, "at least two"),
    ({"tensor": 8, "pipeline": 4, "interleave": 2, "global_batch": 24}, "6 micro-batches for 4"),
)  # fmt: skip
def test_degrees_that_do_not_divide_are_refused(settings, says):
    with pytest.raises(PlanError, match=says) as refused:
        Plan(FOUR, **settings)
    sentence(refused)


@for_rows("model, settings, says",
    ("gpt3-23b", {"pipeline": 8}, "gpt3-23b has 28 layers, which do not divide by 8"),
    ("gpt3-23b", {"pipeline": 4, "interleave": 2}, "28 layers, which do not divide by 8"),
    ("gpt3-6.7b", {"tensor": 64}, "32 attention heads, which do not divide by 64"),
    ("vit-base", {"tensor": 4, "sequence_parallel": True}, "sequences of 197 tokens"),
)  # fmt: skip
def test_a_model_that_does_not_divide_is_refused(model, settings, says):
    plan = Plan(FOUR, **settings)
    with pytest.raises(PlanError, match=says) as refused:
        plan.check(MODELS[model])
    sentence(refused)


def test_heads_for_keys_and_values_divide_or_are_copied():
    model = MODELS["llama2-70b"]  # 64 heads, 8 of keys and values
    for tensor in (1, 2, 4, 8, 16, 32, 64):
        Plan(FOUR, tensor).check(model)
    odd = replace(model, heads=96, kv_heads=12, hidden=96 * 128, ffn=4 * 96 * 128)
    with pytest.raises(PlanError, match="12 heads for keys and values") as refused:
        Plan(FOUR, 8).check(odd)
    sentence(refused)


@for_rows("wrong, error, says",
    (lambda: Cluster("trn9.huge"), PlanError, "no instance 'trn9.huge' with NeuronCores"),
    (lambda: Cluster("p4d.24xlarge"), PlanError, "no instance 'p4d.24xlarge'"),
    (lambda: Cluster(["trn1.32xlarge"]), TypeError, "instance is"),
    (lambda: Cluster(instances=0), ValueError, "instances is 0"),
    (lambda: Cluster(instances=-3), ValueError, "instances is -3"),
    (lambda: Cluster(instances=1.5), TypeError, "instances is 1.5"),
    (lambda: Cluster(instances=10**7), ValueError, "instances is 10000000"),
    (lambda: Cluster(instances=True), TypeError, "instances is True"),
    (lambda: Plan("trn1.32xlarge"), TypeError, "cluster is 'trn1.32xlarge'"),
    (lambda: Plan(FOUR, 0), ValueError, "tensor is 0"),
    (lambda: Plan(FOUR, tensor="8"), TypeError, "tensor is '8'"),
    (lambda: Plan(FOUR, pipeline=-1), ValueError, "pipeline is -1"),
    (lambda: Plan(FOUR, zero=4), ValueError, "zero is 4"),
    (lambda: Plan(FOUR, zero=None), TypeError, "zero is None"),
    (lambda: Plan(FOUR, sequence_parallel=1), TypeError, "sequence_parallel is 1"),
    (lambda: Plan(FOUR, micro_batch=float("nan")), TypeError, "micro_batch is nan"),
    (lambda: Plan(FOUR, global_batch=10**30), ValueError, "global_batch is 10000"),
    (lambda: Plan(FOUR, recompute="some"), ValueError, "one of none, selective, full"),
    (lambda: Plan(FOUR, precision="bf16"), ValueError, "one of bf16-sr, bf16-master, fp32"),
    (lambda: Plan(FOUR, optimizer="adam"), ValueError, "one of adamw, lamb, sgd"),
    (lambda: Plan(FOUR, interleave=0), ValueError, "interleave is 0"),
    (lambda: Plan(FOUR).check("gpt3-175b"), TypeError, "model is 'gpt3-175b'"),
    (lambda: Plan(FOUR, 2).check(Mlp("mlp", (8, 2))), PlanError, "mlp has layers and no blocks"),
)  # fmt: skip
def test_bad_input_is_one_sentence(wrong, error, says):
    with pytest.raises(error) as refused:
        wrong()
    assert says in str(refused.value)
    sentence(refused)


def sentence(refused):
    """Hold a message to one line without Python's own words."""
    said = str(refused.value)
    assert "\n" not in said
    assert 20 < len(said) < 320, said
    assert not said.endswith("."), said
