"""Questions of lesson 11: what fits, who talks most, the bubble, the wall, and what decides a bill.

The model is GPT-3 with 175 billion parameters; a plan, its memory and its time come from `cluster`.
"""

import math
from dataclasses import replace

from trainium_edu.cluster import memory
from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.specs import INSTANCES, SOURCES
from trainium_edu.widgets.card import Prose

_GIB = 2**30

# --- before it fits at all ------------------------------------------------------------------------

#: Bytes of each parameter: weights and gradients in BF16, weights and two means in FP32.
_KEPT = (("weights, BF16", 2), ("gradients, BF16", 2), ("weights, FP32", 4),
         ("Adam's two means, FP32", 8))  # fmt: skip


def _instances(nbytes_of_each):
    """Return a model that needs so many bytes of each parameter, in whole instances."""

    def needed(parameters, instance):
        return math.ceil(parameters * nbytes_of_each / INSTANCES[instance].memory_bytes.value)

    return needed


@question(
    "11/fits-at-all",
    "How many trn1.32xlarge, 512 GiB each, until GPT-3 fits with all that training keeps of it?",
    unit="instances",
    whole=True,
    wrong=[
        Misconception("weights only", _instances(2), "Two bytes of each parameter fit, and that is"
                      " enough to ask the model something. To train it takes gradients and what the"
                      " optimiser keeps."),
        Misconception("weights and gradients", _instances(4), "Weights and gradients, yes. Adam"
                      " keeps three FP32 numbers more of each parameter: a copy of the weight, and"
                      " two means. That is three quarters of it all."),
        Misconception("no copy of the weights", _instances(12), "The FP32 copy of the weights is"
                      " missing: without it, or dice, small updates are lost (lesson 02)."),
        Misconception("BF16 throughout", _instances(8), "Two bytes of everything. That does it if"
                      " dice round each update; the usual recipe keeps weights and means in FP32."),
    ],
)  # fmt: skip
def fits_at_all(parameters, instance):
    """Return the instances whose memory holds weights, gradients and states once."""
    rows = [f"{name:24}{each:6}{parameters * each / _GIB:12,.0f} GiB" for name, each in _KEPT]
    total = sum(each for _, each in _KEPT)
    rows.append(f"{'':24}{total:6}{parameters * total / _GIB:12,.0f} GiB")
    return Answer(
        _instances(total)(parameters, instance),
        f"{total} bytes of each of {parameters / 1e9:.1f} billion parameters. Nothing has been"
        " computed yet, and nothing is kept twice.",
        lambda guess: [
            "bytes of each parameter\n" + "\n".join(rows),
            f"rounded with dice, 8 bytes of each: {_instances(8)(parameters, instance)} instances",
        ],
    )  # fmt: skip


# --- where to cut ---------------------------------------------------------------------------------


def plans_table(plans) -> str:
    """Return a line for each plan: its degrees, what it keeps, what a step takes."""
    lines = ["tensor  pipeline  replicas  micro-batch  computed again      GiB   step, s     MFU"]
    lines += [
        f"{o.plan.tensor:6}{o.plan.pipeline:10}{o.plan.data:10}{o.plan.micro_batch:13}"
        f"{o.plan.recompute:>16}{o.memory.total / _GIB:9.1f}{o.time.step_ns / 1e9:10.1f}"
        f"{o.time.mfu:8.1%}"
        for o in plans
    ]
    return "\n".join(lines)


_WAYS = {"8 ranks, a quarter of an instance": (8, 1), "32 ranks, an instance": (32, 1),
         "64 ranks, two instances": (32, 2), "256 ranks, eight instances": (32, 8)}  # fmt: skip
_CUT = tuple(_WAYS)


def _at(plan, way):
    return replace(plan, tensor=_WAYS[way][0], pipeline=_WAYS[way][1])


def _least(counted):
    """Return the least cut of which what is counted fits a NeuronCore."""

    def model(shape, plan, plans=None):
        held = {way: memory(shape, _at(plan, way)) for way in _CUT}
        return next((way for way in _CUT if counted(held[way]) <= held[way].available), _CUT[-1])

    return model


@question(
    "11/cut",
    "32 instances, ZeRO-1. Over how many ranks, at least, does one replica have to be cut?",
    options=_CUT,
    wrong=[
        Misconception("ZeRO shares out all", lambda shape, plan, plans: _CUT[0], "If all of it were"
                      " shared out, each would keep 2.5 GiB. ZeRO-1 shares out what the"
                      " optimiser keeps; weights and gradients stay whole on each replica."),
        Misconception("weights only", _least(lambda held: held.weights), "The weights fit then,"
                      " with room to spare. The gradients, as large again, do not."),
        Misconception("ZeRO forgotten", lambda shape, plan, plans: _least(lambda held: held.total)(
                      shape, replace(plan, zero=0)), "Without ZeRO, yes: all 16 bytes of its"
                      " parameters on each replica. Here replicas share 12 of them out."),
    ],
)  # fmt: skip
def cut(shape, plan, plans):
    """Return the least cut that fits, of those that are offered."""
    held = {way: memory(shape, _at(plan, way)) for way in _CUT}
    parts = ("weights", "gradients", "master", "states", "activations", "buffers")
    wide = {part: len(part) + 2 for part in parts}
    head = f"{'GiB of 16':10}" + "".join(f"{n:>{w}}" for n, w in wide.items()) + "  total"
    rows = [
        f"{tensor:3} x {pipeline:<4}"
        + "".join(f"{getattr(held[way], part) / _GIB:{w}.1f}" for part, w in wide.items())
        + f"{held[way].total / _GIB:7.1f}" + ("" if held[way].fits else "  too much")
        for way, (tensor, pipeline) in _WAYS.items()
    ]  # fmt: skip
    return Answer(
        _least(lambda held: held.total)(shape, plan),
        "32 instances have six times the memory it takes, and most ways to use them do not fit."
        " The smallest cut that does has to compute each block again in backward.",
        lambda guess: [
            "\n".join([head, *rows]),
            Prose(
                "**All ways, tried by a search.** The smallest cut is not the fastest: it pays by"
                " computing twice. Fastest first, each beaten by none in both memory and time:"
            ),
            plans_table(plans),
            Prose(f"{plans.why_not}."),
        ],
    )


# --- who talks most -------------------------------------------------------------------------------


def _bytes(sent, kind) -> float:
    """Return the bytes of a kind's buffers in a step; an all-reduce scatters and gathers."""
    return sum((1 + (each.operation == "all_reduce")) * each.count * each.nbytes
               for each in sent[kind])  # fmt: skip


def _times(tensor):
    """Return a wrong model: so many bytes between tensor neighbours, over those of replicas."""
    return lambda sent, plan: tensor(sent, plan) / _bytes(sent, "data")


def _sums(sent) -> float:
    """Return the bytes of the tensor sums alone: each is a reduce-scatter and an all-gather."""
    (scattered,) = (each for each in sent["tensor"] if each.operation == "reduce_scatter")
    return 2 * scattered.count * scattered.nbytes


@question(
    "11/wires",
    "In a step, how many times as many bytes pass between tensor neighbours as between replicas?",
    unit="times",
    wrong=[
        Misconception("one micro-batch", _times(lambda sent, plan: _bytes(sent, "tensor")
                      / plan.micro_batches), "You took one micro-batch. Each of them goes through"
                      " all layers; the gradients are summed once, at the end."),
        Misconception("the sums alone", _times(lambda sent, plan: _sums(sent)), "Close: those are"
                      " the four sums. Backward also gathers again what forward left split along"
                      " the sequence."),
        Misconception("forward only", _times(lambda sent, plan: _sums(sent) / 2), "Backward sums as"
                      " often as forward: two more in each layer."),
        Misconception("one sum a layer", _times(lambda sent, plan: _sums(sent) / 4), "Four in each"
                      " layer: after attention and after the MLP, forward and backward."),
        Misconception("the same", lambda sent, plan: 1.0, "Gradients are summed once in a step,"
                      " activations four times in each layer, for each micro-batch."),
    ],
)  # fmt: skip
def wires(sent, plan):
    """Return the ratio of what passes between tensor neighbours and between replicas."""
    tensor, gradients = _bytes(sent, "tensor"), _bytes(sent, "data")
    rows = [
        f"{kind:10}{each.operation:16}{each.count:10,.0f} x {each.nbytes / 2**20:7.2f} MiB"
        f"{each.count * each.nbytes / _GIB:12,.2f} GiB"
        for kind in ("tensor", "data", "pipeline") for each in sent[kind]
    ]  # fmt: skip
    return Answer(
        float(f"{tensor / gradients:.3g}"),
        f"{tensor / _GIB:,.0f} GiB of activations against {gradients / _GIB:.2f} GiB of gradients."
        " So those who share a matrix sit on one instance's links, and replicas may be far apart.",
        lambda guess: "\n".join(rows),
    )


# --- the bubble -----------------------------------------------------------------------------------


@question(
    "11/bubble",
    "For which share of the step does each stage stand idle?",
    unit="%",
    above=-1,
    most=100,
    wrong=[
        Misconception("share of the work", lambda stages, micro, **_: 100 * (stages - 1) / micro,
                      "That is idle time over working time. The step is both together."),
        Misconception("one stage works", lambda stages, micro, **_: 100 * (1 - 1 / stages), "So it"
                      " would be with one micro-batch: one stage works, the others wait. With"
                      " several, a stage takes the next as soon as it has passed one on."),
        Misconception("all stages counted", lambda stages, micro, **_: 100 * stages
                      / (micro + stages), "Nearly. The first stage does not wait for itself: it is"
                      " one less."),
        Misconception("a full pipeline", lambda stages, micro, **_: 0.0, "Once it is full, none"
                      " waits. It has to fill first, and in the end it empties."),
    ],
)  # fmt: skip
def bubble(stages, micro, batch):
    """Return the per cent of a step that the pipeline is not full."""

    def share(m):
        """Return the idle share of a step with so many micro-batches."""
        return (stages - 1) / (m + stages - 1)

    counts = [micro * 16 >> k for k in range(0, 6)]
    rows = [f"{batch // m:9}{m:15}{share(m):9.1%}" for m in counts]
    return Answer(
        round(100 * share(micro), 1),
        f"Each stage has {micro} micro-batches to do and waits for {stages - 1} more:"
        f" {stages - 1} of {micro + stages - 1} turns.",
        lambda guess: " replicas  micro-batches     idle\n" + "\n".join(rows),
    )


# --- the wall -------------------------------------------------------------------------------------


def _grown(times):
    return max(times) / min(times)


def _bubble_left(times):
    """Return the speed-up if nothing but the bubble grew."""
    few, many = times[min(times)], times[max(times)]
    left = [1 - t.parts["pipeline bubble"] / t.step_ns for t in (few, many)]
    return _grown(times) * left[1] / left[0]


@question(
    "11/wall",
    "Thirty-two times the instances, the same batch: how many times as fast is the step?",
    unit="times",
    wrong=[
        Misconception("as many times as fast", _grown, "That needs every part of the step to"
                      " shrink with it. Computing does. The turns in which stages wait, and the"
                      " sum of all gradients, do not."),
        Misconception("only the bubble", _bubble_left, "The bubble, yes. And more replicas sum the"
                      " same gradients: that takes no less time on 1 024 instances than on 32."),
        Misconception("the root", lambda times: _grown(times) ** 0.5, "It is better than that:"
                      " computing, the largest part, does shrink with each instance."),
    ],
)  # fmt: skip
def wall_of(times):
    """Return how many times as fast a step is on the most instances as on the fewest."""
    few, many = times[min(times)], times[max(times)]
    shown = ("Tensor Engine", "pipeline bubble", "gradient sums")
    rows = [f"{'instances':>9}{'step, s':>10}{'MFU':>8}" + "".join(f"{n:>17}" for n in shown)]
    rows += [
        f"{n:9,}{t.step_ns / 1e9:10.1f}{t.mfu:8.0%}"
        + "".join(f"{t.parts[name] / t.step_ns:17.0%}" for name in shown)
        for n, t in times.items()
    ]
    return Answer(
        float(f"{few.step_ns / many.step_ns:.3g}"),
        f"{few.step_ns / 1e9:.1f} s become {many.step_ns / 1e9:.1f} s. What shrinks is computing;"
        " what stays is the time to fill a pipeline and to sum the gradients.",
        lambda guess: "\n".join(rows),
    )


# --- the bill -------------------------------------------------------------------------------------


def _even(found):
    """Return a wrong model of the share at which both cost the same, in per cent."""

    def model(compared, flops, step_s, cluster):
        ours, theirs = (INSTANCES[n].peak_flops.value for n in (cluster.instance, "p4d.24xlarge"))
        per_s = flops / step_s / cluster.instances
        return 100 * found(per_s / ours, per_s / theirs, compared.used.price)

    return model


@question(
    "11/break-even",
    "Which share of its peak does P4d have to reach on this model to cost the same?",
    unit="%",
    wrong=[
        Misconception("as fast", _even(lambda ours, theirs, price: theirs), "There it is as fast."
                      " But its hour costs half as much again, so it has to be faster."),
        Misconception("the price turned round", _even(lambda ours, theirs, price: theirs * price),
                      "You let P4d's hour be the cheaper one."),
        Misconception("one peak for both", _even(lambda ours, theirs, price: ours / price),
                      "You took Trn1's share of the peak and the two prices. But the peaks differ"
                      " too: a share of P4d's is less work."),
        Misconception("the same share", _even(lambda ours, theirs, price: ours), "That is Trn1's"
                      " share of its own peak. Peaks and prices both differ."),
    ],
)  # fmt: skip
def break_even(compared, flops, step_s, cluster):
    """Return P4d's share of its peak at which the same work costs the same."""
    return Answer(
        round(100 * compared.break_even, 1),
        "Work per second and dollar has to be equal. Published runs on A100 reach 44 to 52 % of its"
        f" peak ({SOURCES['megatron-2021'].cited}): so which is cheaper hangs on how well your own"
        " model runs.",
        lambda guess: [
            str(compared),
            Prose(
                "**The uncertain half.** P4d's speed is a range from other people's runs, on"
                " another cluster; the prices are lists of a day that nobody wrote down. Trn1's"
                " speed is the only number here that was published for this model."
            ),
        ],
    )
