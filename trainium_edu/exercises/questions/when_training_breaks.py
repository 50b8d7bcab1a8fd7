"""Questions of lesson 09b: memory, a slow rank, a starved chip, a failure, and one toss."""

import math
from functools import partial

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import table
from trainium_edu.training.pipeline import BYTES_PER_SAMPLE, input_pipeline
from trainium_edu.viz.data_parallel import draw_pipeline, memory_bars, step_bars
from trainium_edu.viz.follow import draw_futures, draw_toss
from trainium_edu.widgets.picture import Picture

_SHOWN = words_of(__file__)["shown"]

# --- memory ---------------------------------------------------------------------------------------


def _each(plain):
    """Return what is kept, in bytes per parameter."""
    parts = "weights", "gradients", "master", "states"
    return {part: getattr(plain, part) / plain.parameters for part in parts}


def kept_table(plain) -> str:
    """Return what a NeuronCore keeps, in bytes per parameter."""
    return _SHOWN["kept"].format(total=plain.bytes_per_parameter, **_each(plain))


@question("09b/zero-memory")
def zero_memory(plain, zero, ranks, same):
    """Return the bytes per parameter that ZeRO-1 keeps."""
    told = "the same, bit for bit" if same else "not the same"
    weights, gradients, master, states = _each(plain).values()
    mib = [f"{held.total / 2**20:.1f} MiB" for held in (plain, zero)]
    return Answer(
        round(zero.bytes_per_parameter, 2),
        wrong={
            "all is shared out": (weights + gradients + master + states) / ranks,
            "FP32 weights stay": weights + gradients + master + states / ranks,
            "gradients too": weights + (gradients + master + states) / ranks,
            "nothing is saved": plain.bytes_per_parameter,
        },
        terms={"before": mib[0], "after": mib[1]},
        show=lambda guess: [
            memory_bars({"plain": plain, "ZeRO-1": zero}),
            kept_table(zero),
            f"weights after five steps in FP32, plain and with ZeRO-1: {told}",
        ],
    )


# --- a straggler ----------------------------------------------------------------------------------


@question("09b/straggler")
def straggler(usual, slow, hidden, times):
    """Return the microseconds of a step that waits for one slow rank."""
    grew = [now.step_ns / before.step_ns - 1 for before, now in ((usual, slow), hidden)]
    names = "ring", "ring, one is slow", "mesh", "mesh, one is slow"
    steps = dict(zip(names, (usual, slow, *hidden), strict=True))
    return Answer(
        round(slow.step_ns / 1e3),
        wrong={
            "the mean": (usual.step_ns + usual.compute_ns * (times - 1) / usual.ranks) / 1e3,
            "all of it is slower": usual.step_ns * times / 1e3,
            "links wait and catch up": max(usual.compute_ns * times, usual.communication_ns) / 1e3,
        },
        terms={
            "late_us": slow.straggler_ns / 1e3,
            "compute_grew": 100 * grew[0],
            "step_grew": 100 * grew[1],
        },
        show=lambda guess: step_bars(steps),
    )


# --- a starved chip -------------------------------------------------------------------------------


def feed(step_ms, workers, prefetch=2):
    """Return the input pipeline of this lesson: photographs for 32 ranks, storage of 4 GB/s."""
    settings = {"batch": 32, "storage_bytes_per_s": 4e9, "steps": 32}
    return input_pipeline(step_ms * 1e6, workers=workers, prefetch=prefetch, **settings)


def feed_table(pipelines) -> str:
    """Return a line for each (workers, prefetch) → pipeline: how long the chips wait."""
    rows = ((*key, p.steady_wait_ns / 1e6, p.samples_per_s) for key, p in pipelines.items())
    return table(_SHOWN["feed"], rows)


@question("09b/workers")
def workers(step_ms, decode_ms, batch):
    """Return how many workers each rank needs."""
    most = next(n for n in range(1, 65) if feed(step_ms, n).steady_wait_ns == 0)
    decode = batch * decode_ms
    tried = [(1, 2), (most - 1, 2), (most - 1, 16), (most, 2)]
    found = {(n, ahead): feed(step_ms, n, ahead) for n, ahead in tried}
    starved, fed = found[most - 1, 2], found[most, 2]
    read_ms = batch * float(BYTES_PER_SAMPLE) / 4e6  # of feed's 4 GB/s
    wait = f"{starved.steady_wait_ns / 1e6:.0f} ms"
    waiting = f"With {most - 1} workers the chips wait {wait} before each step."
    return Answer(
        most,
        wrong={
            "prefetch makes more": math.ceil(decode / step_ms / 2),
            "for all ranks": 32 * math.ceil(decode / step_ms),
            "one per image": batch,
        },
        terms={"decode": decode, "read_ms": read_ms, "others": most - 1, "wait": wait},
        show=lambda guess: [
            Picture(partial(draw_pipeline, starved), alt=waiting),
            Picture(partial(draw_pipeline, fed), alt=f"With {most} workers they do not wait."),
            feed_table(found),
        ],
    )


# --- a failure ------------------------------------------------------------------------------------


@question("09b/resumed")
def resumed(again, whole, same):
    """Return how equal a resumed run is to one that was never stopped."""
    first, last = again.steps[0].number, again.steps[-1].number + 1
    told = "the same bits" if same else "they differ"
    return Answer(
        0 if same else 2,
        show=lambda guess: _SHOWN["resumed"].format(first=first, last=last, weights=told),
    )


# --- one toss -------------------------------------------------------------------------------------


def told(explained, lr) -> str:
    """Return what one needs to work out a weight's toss: gradient, rate, neighbour."""
    e, mean = explained, f"mean of the {len(explained.shards)} gradients"
    place = f"{e.name}[{', '.join(map(str, e.index))}] before the step"
    return _SHOWN["toss"].format(e=e, place=place, mean=mean, total=e.total * e.scale, lr=lr)


@question("09b/toss")
def toss(explained):
    """Return the chance in per cent that the toss went up."""
    e, t = explained, explained.toss
    adds, share = sum(hop.adds for hop in e.hops), round(100 * t.share)
    alt = f"{len(e.shards)} gradients, their mean, and the toss: {share} per cent of the way up."
    return Answer(
        share,
        wrong={"to the nearer": 100 * (t.share > 0.5), "the other way round": 100 - share},
        terms={
            "exact": e.exact,
            "bits": t.random_bits,
            "way": "up" if e.after == t.high else "down",
        },
        show=lambda guess: [
            Picture(partial(draw_toss, e), alt=alt),
            f"{len(e.shards)} ranks, {adds} additions on the way; all ranks threw the same bits",
        ],
    )


@question("09b/flip")
def flipped(futures):
    """Return when the first prediction differs."""
    first, passed = futures.first, len(futures.after)
    begun, ended = futures.after[0].weights, futures.after[-1].weights
    never, at_once = first is None, passed == 1
    near = abs(futures.after[-1].loss - futures.after[-1].loss_if) < 0.01
    alt = "Weights that differ between the two runs, and how far the losses differ."
    return Answer(
        2 if never else int(not at_once),
        terms={"losses": "stay the same to two digits" if near else "with them"},
        show=lambda guess: [
            Picture(partial(draw_futures, futures), alt=alt),
            f"weights that differ after one step: {begun}; after the last one shown: "
            f"{'more than a hundred' if ended > 100 else ended}",
        ],
    )
