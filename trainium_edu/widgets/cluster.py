"""Scale and cost to move: memory against 16 GiB, a plan on its wires, the wall.

What a run costs is in ``cluster_cost.py``; all of it can be had from here.
"""

import re
from dataclasses import replace
from functools import cache
from itertools import accumulate
from operator import or_
from threading import Thread

import numpy as np

from trainium_edu import aside, fabric
from trainium_edu.cluster.memory import memory
from trainium_edu.cluster.models import get_model
from trainium_edu.cluster.placement import KINDS, placement
from trainium_edu.cluster.plan import Cluster, Plan, PlanError
from trainium_edu.cluster.scaling import scale
from trainium_edu.cluster.scaling import wall as find_wall
from trainium_edu.cluster.step_time import PARTS, look_ahead, step_time
from trainium_edu.cluster.traffic import traffic
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.bars import Stack, draw_stacks
from trainium_edu.viz.cluster import draw_group
from trainium_edu.viz.cluster_curves import draw_wall
from trainium_edu.viz.units import size_text, time_text
from trainium_edu.widgets.cluster_cost import PLAN, bill, checkpoint_interval, court, hearing
from trainium_edu.widgets.sketch import RECIPES, Page, controls_of, say, sketch

__all__ = [
    "bill",
    "checkpoint_interval",
    "court",
    "hearing",
    "memory_planner",
    "plan_on_cluster",
    "wall",
]

_GIB = 2**30
_KEPT = ("weights", "gradients", "master", "states", "activations", "buffers")
_POWERS = ("instances", "tensor", "pipeline")  # sliders of powers of two
_START = {control["name"]: control["value"] for control in controls_of("planner")}
_RUNGS = RECIPES["planner"]["press"]
#: The ladder: the controls' values at first and after each button, pressed one after the other.
_STEPS = accumulate(((*rung, _START)[2] for rung in _RUNGS.values()), or_)
_CLIMB = dict(zip(_RUNGS, _STEPS, strict=True))


@checked
def memory_planner(model: str = "gpt3-175b", *, global_batch: int = 1536):
    """Show what one NeuronCore keeps, against its 16 GiB, and what a step takes.

    Parameters
    ----------
    model : str
        A key of ``cluster.MODELS``.
    global_batch : int
        Samples of all replicas in a step.

    Returns
    -------
    Sketch
        Values ``instances``, ``tensor`` and ``pipeline`` (powers of two), ``micro_batch``,
        ``zero``, ``sequence_parallel``, ``recompute``, ``precision``; a button for each rung.

    Raises
    ------
    ValueError
        If there is no such model.

    Examples
    --------
    >>> memory_planner("llama2-7b").set(tensor=3)
    """
    shape = get_model(model)

    def page(values):
        outputs = {name: f"{2 ** values[name]:,}" for name in _POWERS}
        try:
            plan = _planned(values, global_batch)
            kept, time = memory(shape, plan), step_time(shape, plan)
            said = ["**{}:**{}.".format(*kept.explain().split(":", 1)), _step_words(kept, time)]
        except PlanError as error:
            kept, time, said = None, None, [f"**No such plan:** {error}."]
        if kept and kept.total != totals[-1]:
            totals[:] = totals[-1], kept.total
        pressed = [rung for rung, step in _CLIMB.items() if step.items() <= values.items()]
        scene = _memory_scene(kept, time, values["width"], totals[0] / _GIB)
        return Page(scene, said, outputs, pressed="".join(pressed))

    totals = [0.0, 0.0]  # before the last move, and now
    if aside.HAS_THREADS:
        Thread(target=look_ahead, args=(shape, global_batch), daemon=True).start()
    words = [_ladder_words(shape, global_batch)]
    return sketch("planner", page, words=words, named={"model": shape.name})


def _planned(values, global_batch) -> Plan:
    """Return the plan that the planner's controls describe."""
    asked: dict = {name: 2 ** values[name] for name in _POWERS}
    asked |= {name: int(values[name]) for name in ("zero", "micro_batch")}
    asked |= {name: values[name] for name in ("sequence_parallel", "recompute", "precision")}
    return Plan(Cluster(instances=asked.pop("instances")), global_batch=global_batch, **asked)


def _ladder_words(model, global_batch) -> str:
    """Say what a NeuronCore keeps and a step takes, climbing from rung to rung."""
    said = []
    for rung, values in _CLIMB.items():
        try:
            plan = _planned(values, global_batch)
            step = time_text(step_time(model, plan).step_ns)
            found = f"{memory(model, plan).total / _GIB:,.1f} GiB, {step} a step"
        except PlanError:
            found = "no plan"
        said.append(f"{_RUNGS[rung][0].lower() if said else 'at first'} {found}")
    return "; ".join(said)


def _step_words(kept, time) -> str:
    ends = list(map(time_text, (time.low_ns, time.step_ns, time.high_ns)))
    numbers = {"ends": ends, "mfu": 100 * time.mfu, "would": "takes" if kept.fits else "would take"}
    return say("planner", time=time, why=_spaced(time.why), **numbers)[0]


def _memory_scene(kept, time, width, before):
    """Draw the parts of one NeuronCore's memory and of a step; empty bars if there are none."""
    parts = {part: getattr(kept, part) / _GIB if kept else 0.0 for part in _KEPT}
    most = kept.available / _GIB if kept else 16
    title = "What the fullest NeuronCore keeps"
    held = Stack(title, "GiB", parts, most, f"{most:.0f} GiB", before=before)
    spent = {part: time.parts[part] / 1e9 if time else 0.0 for part in PARTS}
    return draw_stacks([held, Stack("Where a step goes", "s", spent)], width=width)


_CALLED = RECIPES["plan"]["operations"]
_PARTS = {"tensor": "tensor-parallel sums", "data": "gradient sums", "pipeline": "pipeline sends"}


@checked
def plan_on_cluster(model: str = "gpt3-175b", plan: Plan | None = None):
    """Show which NeuronCores of a plan form a group, and over which wires they talk.

    Parameters
    ----------
    model : str
        A key of ``cluster.MODELS``.
    plan : Plan, optional
        64 instances, tensor 8, pipeline 8, unless said otherwise.

    Returns
    -------
    Sketch
        Values ``rank`` and ``kind``; a table of what each kind sends in a step.

    Raises
    ------
    ValueError
        If there is no such model; a PlanError if it does not divide as the plan says.

    Examples
    --------
    >>> plan_on_cluster("llama2-7b", Plan(Cluster(instances=4), tensor=8)).set(kind="data")
    """
    shape, plan = get_model(model), plan or PLAN
    where, time, sent = placement(plan), step_time(shape, plan), traffic(shape, plan)
    groups, places = {kind: where.groups(kind) for kind in KINDS}, where.ranks
    machine = fabric.machine(plan.cluster.instance)
    rows = {kind: _sent_row(kind, where, sent[kind], time) for kind in KINDS}

    def page(values):
        rank, kind = values["rank"], values["kind"]
        instance, chip, core = places[rank].tolist()
        peers = groups[kind][np.nonzero(groups[kind] == rank)[0][0]]
        look = {"closed": kind != "pipeline", "width": values["width"]}
        scene = draw_group(machine, plan.cluster.instances, peers, rank, **look)
        group, part = where.group(kind), "group" if where.group(kind).ranks > 1 else "alone"
        across = f", in {group.across:,} instances" if group.across > 1 else ""
        wires = where.wires(kind)
        (talks,) = say("plan", part, kind=kind, group=group, across=across, wires=wires)
        said = say("plan", rank=rank, core=core, chip=chip, instance=instance, group=talks)
        table = [{"cells": cells, "colour": None, "marked": k == kind} for k, cells in rows.items()]
        return Page(scene, said, head=RECIPES["plan"]["head"], rows=table)

    words = ["; ".join([f"{plan}", *(" ".join(cells) for cells in rows.values())])]
    return sketch(
        "plan", page, words=words, named={"model": shape.name}, rank={"max": plan.cluster.ranks - 1}
    )


def _sent_row(kind, where, sent, time) -> list[str]:
    """Return a kind's cells: ranks, wires, operations, bytes and time of a step."""
    done: dict[float, list] = {}
    for each in sent:
        done.setdefault(each.nbytes, []).append(f"{each.count:,.0f} {_CALLED[each.operation]}")
    operations = [f"{' + '.join(names)} of {size_text(size)}" for size, names in done.items()]
    ns, nbytes = time.parts[_PARTS[kind]], sum(each.count * each.nbytes for each in sent)
    ends = [size_text(nbytes), time_text(ns), f"{100 * ns / time.step_ns:.3g} %"]
    ranks = f"{where.group(kind).ranks:,}"
    return [kind, ranks, where.wires(kind), "; ".join(operations) or "nothing", *ends]


_COUNTS = (*(2**k for k in range(13)), 6250)  # instances: to 65,536 chips, and 100,000


@checked
def wall(model: str = "gpt3-175b", plan: Plan | None = None):
    """Show efficiency up to 100,000 chips, what a step is made of, and the wall.

    Parameters
    ----------
    model : str
        A key of ``cluster.MODELS``.
    plan : Plan, optional
        Where efficiency is 1: 16 instances, tensor 8, pipeline 8, unless said otherwise.

    Returns
    -------
    Sketch
        Values ``instances`` (a place in the list of sizes) and ``batch`` (of all replicas).

    Raises
    ------
    ValueError
        If there is no such model; a PlanError if it does not divide as the plan says.

    Examples
    --------
    >>> wall("gpt3-175b").set(batch="4096")
    """
    shape, plan = get_model(model), plan or replace(PLAN, cluster=Cluster(instances=16))
    own = plan.cluster.instances
    cores, group = plan.cluster.ranks // own, plan.tensor * plan.pipeline
    counts = (own, *(n for n in _COUNTS if n > own and n * cores % group == 0))
    batches = [plan.global_batch * 2**k for k in range(5)]

    @cache
    def scaled(batch):
        base = replace(plan, global_batch=batch)
        found = find_wall(shape, base)
        where = scale(shape, base, (own, found.half), "strong")[1] if found.half else None
        return found, where, *(scale(shape, base, counts, kind) for kind in ("strong", "weak"))

    def page(values):
        found, where, strong, weak = scaled(int(values["batch"]))
        here = values["instances"]
        chips = [point.chips for point in weak]
        shares = [[p.efficiency if p.time else np.nan for p in points] for points in (strong, weak)]
        parts = {name: np.array([p.parts.get(name, np.nan) for p in strong]) for name in PARTS}
        mark = (where.chips, where.efficiency) if where else ()
        scene = draw_wall(chips, *shares, parts, chips[here], mark, width=values["width"])
        kinds = {"strong": strong, "weak": weak}
        points = [_point_words(kind, points[here]) for kind, points in kinds.items()]
        told = _spaced(found)
        said = say("wall", here=counts[here], points=points, wall=told[0].upper() + told[1:])
        return Page(scene, said, {"instances": f"{counts[here]:,} ({chips[here]:,} chips)"})

    words, offered, last = [], {}, len(counts) - 1
    for batch in batches:
        half = scaled(batch)[0].half
        words.append(f"batch {batch:,}: {f'wall at {half:,} instances' if half else 'no wall'}")
        offered[str(batch)] = f"{batch:,} samples"
    chosen = {"options": offered, "value": str(plan.global_batch)}
    moved, named = {"max": last, "value": min(4, last)}, {"model": shape.name}
    return sketch(
        "wall", page, words=["; ".join(words)], named=named, instances=moved, batch=chosen
    )


def _spaced(words) -> str:
    """Set a space before each per cent."""
    return re.sub(r" ?%", " %", f"{words}")


def _point_words(kind, point) -> str:
    """Say a step and its efficiency, or why there is none."""
    if not point.time:
        return f"**{kind}** none, for {point.reason}"
    replicas, pace = point.plan.data, float(f"{point.tokens_per_s:.3g}")
    rings = say("wall", "rings", replicas=replicas) if replicas & (replicas - 1) else [""]
    numbers = {"step": time_text(point.step_ns), "percent": 100 * point.efficiency}
    return say("wall", "point", kind=kind, pace=pace, rings=rings[0], **numbers)[0]
