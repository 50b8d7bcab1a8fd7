"""Questions of lesson 11: what fits, who talks most, the bubble, the wall, and what decides a bill.

The model is GPT-3 with 175 billion parameters; a plan, its memory and its time come from `cluster`.
"""

import math
from dataclasses import replace

from trainium_edu.cluster import memory
from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers, table
from trainium_edu.specs import CLAIMS, INSTANCES

_GIB = 2**30
_SHOWN = words_of(__file__)["shown"]

# --- before it fits at all ------------------------------------------------------------------------

#: Bytes of each parameter: weights and gradients in BF16, weights and two means in FP32.
_KEPT = _SHOWN["kept"]["parts"]


def _instances(parameters, nbytes_of_each, instance):
    """Return the instances whose memory holds so many bytes of each parameter."""
    return math.ceil(parameters * nbytes_of_each / INSTANCES[instance].memory_bytes.value)


@question("11/fits-at-all")
def fits_at_all(parameters, instance):
    """Return the instances whose memory holds weights, gradients and states once."""
    total = sum(each for _, each in _KEPT)
    rows = [(name, each, parameters * each / _GIB) for name, each in (*_KEPT, ("", total))]
    dice, memory = (*_KEPT[:2], ("Adam's two means, BF16", 4)), INSTANCES[instance].memory_bytes
    bars = {
        name: {part: parameters * each / _GIB for part, each in kept}
        for name, kept in (("with FP32 copies", _KEPT), ("rounded with dice", dice))
    } | {f"one {instance}": {"memory": memory.value / _GIB}}
    return Answer(
        _instances(parameters, total, instance),
        wrong={
            "weights only": _instances(parameters, 2, instance),
            "weights and gradients": _instances(parameters, 4, instance),
            "no copy of the weights": _instances(parameters, 12, instance),
            "BF16 throughout": _instances(parameters, 8, instance),
        },
        terms={"total": total, "billions": parameters / 1e9},
        show=lambda guess: [
            numbers(_SHOWN["kept"], rows, bars),
            f"rounded with dice, 8 bytes of each: {_instances(parameters, 8, instance)} instances",
        ],
    )


# --- where to cut ---------------------------------------------------------------------------------


def plans_table(plans) -> str:
    """Return a line for each plan: its degrees, what it keeps, what a step takes."""
    rows = ((o, o.memory.total / _GIB, o.time.step_ns / 1e9) for o in plans)
    return table(_SHOWN["plans"], rows)


_WAYS = ((8, 1), (32, 1), (32, 2), (32, 8))  # tensor and pipeline of each option


def _held(shape, plan):
    """Return what a NeuronCore holds with each option."""
    return [memory(shape, replace(plan, tensor=n, pipeline=stages)) for n, stages in _WAYS]


def _least(shape, plan, part="total"):
    """Return the place of the least cut of which a part of the memory fits a NeuronCore."""
    held = enumerate(_held(shape, plan))
    fits = (place for place, each in held if getattr(each, part) <= each.available)
    return next(fits, len(_WAYS) - 1)


@question("11/cut")
def cut(shape, plan, plans):
    """Return the least cut that fits, of those that are offered."""
    parts = ("weights", "gradients", "master", "states", "activations", "buffers")
    rows, bars = [], {}
    for (tensor, pipeline), held in zip(_WAYS, _held(shape, plan), strict=True):
        gib = {part: getattr(held, part) / _GIB for part in parts}
        bars[f"tensor {tensor} x pipeline {pipeline}"] = gib
        much = "" if held.fits else "  too much"
        rows.append((tensor, pipeline, *gib.values(), held.total / _GIB, much))
    return Answer(
        _least(shape, plan),
        wrong={
            "weights only": _least(shape, plan, "weights"),
            "ZeRO forgotten": _least(shape, replace(plan, zero=0)),
        },
        show=lambda guess: [numbers(_SHOWN["cut"], rows, bars), plans_table(plans)],
    )


# --- who talks most -------------------------------------------------------------------------------


def _bytes(sent, kind) -> float:
    """Return the bytes of a kind's buffers in a step; an all-reduce scatters and gathers."""
    return sum(
        (1 + (each.operation == "all_reduce")) * each.count * each.nbytes for each in sent[kind]
    )


@question("11/wires")
def wires(sent, plan):
    """Return the ratio of what passes between tensor neighbours and between replicas."""
    tensor, gradients = _bytes(sent, "tensor"), _bytes(sent, "data")
    (scattered,) = (each for each in sent["tensor"] if each.operation == "reduce_scatter")
    sums = 2 * scattered.count * scattered.nbytes  # each is a reduce-scatter and an all-gather
    kinds = ("tensor", "data", "pipeline")
    bars = {kind: _bytes(sent, kind) / _GIB for kind in kinds}
    rows = [
        (kind, each, each.nbytes / 2**20, each.count * each.nbytes / _GIB)
        for kind in kinds
        for each in sent[kind]
    ]
    return Answer(
        float(f"{tensor / gradients:.3g}"),
        wrong={
            "one micro-batch": tensor / plan.micro_batches / gradients,
            "the sums alone": sums / gradients,
            "forward only": sums / 2 / gradients,
            "one sum a layer": sums / 4 / gradients,
        },
        terms={"tensor_gib": tensor / _GIB, "gradients_gib": gradients / _GIB},
        show=lambda guess: numbers(_SHOWN["sent"], rows, bars),
    )


# --- the bubble -----------------------------------------------------------------------------------


@question("11/bubble")
def bubble(stages, micro, batch):
    """Return the per cent of a step that the pipeline is not full."""

    def share(m):
        """Return the idle share of a step with so many micro-batches."""
        return (stages - 1) / (m + stages - 1)

    waits = stages - 1
    counts = [micro * 16 >> k for k in range(0, 6)]
    rows = [(batch // m, m, share(m)) for m in counts]
    bars = {f"{batch // m} replicas, {m} micro-batches": 100 * share(m) for m in counts}
    return Answer(
        round(100 * share(micro), 1),
        wrong={
            "share of the work": 100 * waits / micro,
            "one stage works": 100 * waits / stages,
            "all stages counted": 100 * stages / (micro + stages),
            "stages over micro-batches": 100 * stages / micro,
        },
        terms={"waits": waits, "slots": micro + waits},
        show=lambda guess: numbers(_SHOWN["bubble"], rows, bars),
    )


# --- the wall -------------------------------------------------------------------------------------


@question("11/wall")
def wall_of(times):
    """Return how many times as fast a step is on the most instances as on the fewest."""
    fewest = min(times)
    few, many, grown = times[fewest], times[max(times)], max(times) / fewest
    left = [1 - t.parts["pipeline bubble"] / t.step_ns for t in (few, many)]
    fast = {n: few.step_ns / t.step_ns for n, t in times.items()}
    bars = {
        f"{n:,} instances: {factor:.3g} times": {"reached": factor, "lost": n / fewest - factor}
        for n, factor in fast.items()
    }
    shown = ("Tensor Engine", "pipeline bubble", "gradient sums")
    rows = [
        (n, t.step_ns / 1e9, t, *(t.parts[name] / t.step_ns for name in shown))
        for n, t in times.items()
    ]
    return Answer(
        float(f"{few.step_ns / many.step_ns:.3g}"),
        wrong={
            "as many times as fast": grown,
            "only the bubble": grown * left[1] / left[0],
            "the root": grown**0.5,
        },
        terms={"few_s": few.step_ns / 1e9, "many_s": many.step_ns / 1e9},
        show=lambda guess: numbers(_SHOWN["wall"], rows, bars, spell=lambda ideal: f"of {ideal:g}"),
    )


# --- the bill -------------------------------------------------------------------------------------


@question("11/break-even")
def break_even(compared, flops, step_s, cluster):
    """Return P4d's share of its peak at which the same work costs the same."""
    ours, theirs = (INSTANCES[n].peak_flops.value for n in (cluster.instance, "p4d.24xlarge"))
    per_s = flops / step_s / cluster.instances
    return Answer(
        round(100 * compared.break_even, 1),
        wrong={
            "as fast": 100 * per_s / theirs,
            "the price turned round": 100 * per_s / theirs * compared.used.price,
            "one peak for both": 100 * per_s / ours / compared.used.price,
            "the same share": 100 * per_s / ours,
        },
        terms={
            "low": float(CLAIMS.a100_share_of_peak),
            "high": float(CLAIMS.a100_share_of_peak_best),
        },
        show=lambda guess: str(compared),
    )
