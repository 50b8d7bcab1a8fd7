"""Widgets of scale and cost, without a browser.  Judges: the models of ``cluster``, called."""

from dataclasses import replace

import pytest

from tests.for_each import for_rows, raises
from tests.widgets.page import press, said
from trainium_edu.cluster.memory import memory
from trainium_edu.cluster.placement import placement
from trainium_edu.cluster.plan import Cluster, Plan, PlanError
from trainium_edu.cluster.scaling import scale
from trainium_edu.cluster.scaling import wall as find_wall
from trainium_edu.cluster.step_time import step_time
from trainium_edu.cluster.traffic import traffic
from trainium_edu.viz.colours import COLOURS
from trainium_edu.widgets.cluster import memory_planner, plan_on_cluster, wall


def texts(sketch):
    return [shape[3] for shape in sketch.scene.shapes if shape[0] == "text"]


def test_the_ladder_leads_from_two_terabytes_to_a_plan_that_fits():
    sketch = memory_planner()
    plan = {"cluster": Cluster(instances=8), "global_batch": 1536, "precision": "bf16-master"}
    first = memory("gpt3-175b", Plan(**plan))
    assert said(sketch).startswith(f"**{first.total / 2**30:,.0f} of 16 GiB")
    assert "would take" in said(sketch)
    press(sketch, "states", "tensor", "stages", "sequence", "again")
    plan |= {"zero": 1, "tensor": 32, "pipeline": 8, "sequence_parallel": True}
    plan |= {"recompute": "selective"}
    kept, time = memory("gpt3-175b", Plan(**plan)), step_time("gpt3-175b", Plan(**plan))
    assert kept.fits
    assert said(sketch).startswith(f"**{kept.total / 2**30:.1f} of 16 GiB on stage 1 of 8:**")
    assert f"takes **{time.step_ns / 60e9:.3g} min**" in said(sketch)
    assert f"MFU {100 * time.mfu:.1f} %" in said(sketch)
    press(sketch, "dice")
    plan |= {"precision": "bf16-sr"}
    kept, time = memory("gpt3-175b", Plan(**plan)), step_time("gpt3-175b", Plan(**plan))
    assert f"**{kept.total / 2**30:.1f} of 16 GiB" in said(sketch)
    assert f"states {kept.states / 2**30:.3g}" in texts(sketch)
    assert f"pipeline bubble {time.parts['pipeline bubble'] / 1e9:.3g}" in texts(sketch)
    press(sketch, "start")
    assert said(sketch).startswith(f"**{first.total / 2**30:,.0f} of 16 GiB")
    assert f"round with dice {kept.total / 2**30:.1f} GiB" in repr(sketch)


@for_rows(
    "values, why",
    ({"tensor": 5, "pipeline": 6}, "2048 ranks for one replica, and 8 x trn1.32xlarge have 256"),
    ({"instances": 10, "tensor": 0}, "32768 replicas with micro-batches of 1"),
    ({"tensor": 5, "pipeline": 6, "instances": 9}, "96 layers, which do not divide by 64"),
)
def test_degrees_that_do_not_divide_are_one_sentence(values, why):
    sketch = memory_planner()
    sketch.set(**values)
    assert said(sketch).startswith("**No such plan:**")
    assert why in said(sketch)
    assert {"16 GiB", "weights 0"} <= set(texts(sketch))


@for_rows("model", "bert-large", "llama2-7b", "vit-base")
def test_every_control_of_the_planner_takes_its_ends(model):
    sketch = memory_planner(model)
    for control in sketch.controls:
        options = {"range": (control.get("min"), control.get("max")), "check": (True, False),
                   "choice": [o for o, _ in control.get("options", ())]}  # fmt: skip
        for value in options[control["kind"]]:
            sketch.set(**{control["name"]: value})
            assert said(sketch)


def test_a_model_without_a_name_is_refused():
    raises(ValueError, "no model 'gpt5'", memory_planner, "gpt5")


PLAN = Plan(Cluster(instances=16), tensor=8, pipeline=4, zero=1)


@for_rows("kind, ranks, wires",
    ("tensor", range(96, 104), "NeuronLink"), ("data", range(4, 128, 8), "EFA"),
     ("pipeline", range(100, 512, 128), "EFA"),
)  # fmt: skip
def test_a_rank_lights_its_group_and_names_its_wires(kind, ranks, wires):
    sketch = plan_on_cluster("gpt3-23b", PLAN)
    sketch.set(rank=100, kind=kind)
    assert "Rank **100** is NeuronCore 0 of chip 2 of instance 3." in said(sketch)
    assert f"has **{len(ranks)} ranks**, {ranks.step} apart" in said(sketch)
    assert f"the slowest wires between them are **{wires}**" in said(sketch)
    rects = [s for s in sketch.scene.shapes if s[0] == "rect" and s[3:5] == [13, 20]]
    lit = sum(s[5] == COLOURS["orange"] for s in rects)
    assert lit == len(ranks) - 1  # and the chosen one has a colour of its own
    (row,) = [row["cells"] for row in sketch.page["table"]["rows"] if row["marked"]]
    assert row[:3] == [kind, str(len(ranks)), wires]


def test_the_table_has_the_time_that_the_wires_need_for_what_is_sent():
    rows = plan_on_cluster("gpt3-23b", PLAN).page["table"]["rows"]
    sent, where, ns = traffic("gpt3-23b", PLAN), placement(PLAN), {}
    for kind in ("tensor", "data"):
        each = (s.count * where.collective_ns(kind, s.operation, s.nbytes) for s in sent[kind])
        ns[kind] = sum(each)
    ns["pipeline"] = sum(s.count * where.send_ns(s.nbytes) for s in sent["pipeline"])
    step_ns = step_time("gpt3-23b", PLAN).step_ns
    shares = [f"{100 * value / step_ns:.3g} %" for value in ns.values()]
    assert [row["cells"][-1] for row in rows] == shares


def test_groups_of_one_talk_to_nobody():
    sketch = plan_on_cluster("bert-large", Plan(Cluster("trn1.2xlarge")))
    assert "Its tensor group is itself: it talks to nobody." in said(sketch)
    sketch.set(kind="data", rank=1)
    assert "slowest wires between them are **on chip**" in said(sketch)


def test_a_plan_that_does_not_divide_is_refused_at_once():
    with pytest.raises(PlanError, match="96 layers, which do not divide by 64"):
        plan_on_cluster("gpt3-175b", Plan(Cluster(instances=64), 32, 64))


def test_the_wall_moves_with_the_batch():
    sketch, plan = wall(), replace(PLAN, recompute="selective", sequence_parallel=True, pipeline=8)
    for batch in (1024, 4096):
        sketch.set(batch=str(batch), instances=4)
        found = find_wall("gpt3-175b", replace(plan, global_batch=batch))
        assert f"batch {batch:,}: wall at {found.half:,} instances" in repr(sketch)
        assert str(found)[1:].split(",")[0] in said(sketch)
        point = scale("gpt3-175b", replace(plan, global_batch=batch), (16, 256), "strong")[1]
        assert f"**{100 * point.efficiency:.1f} %** efficient; **weak**" in said(sketch)
        assert f"the wall: {16 * found.half:,} chips" in texts(sketch)


def test_beyond_the_batch_strong_scaling_says_why_it_ends():
    sketch = wall("gpt3-23b", PLAN)
    (control,) = [c for c in sketch.controls if c["name"] == "instances"]
    sketch.set(instances=control["max"])
    assert "**strong** none, for a global batch of 1024 samples does not divide" in said(sketch)
