"""Questions of lesson 09b: memory, a slow rank, a starved chip, a failure, and one toss."""

import math

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.exercises.questions.data_parallel_training import step_table
from trainium_edu.training.pipeline import input_pipeline
from trainium_edu.viz.data_parallel import plot_memory, plot_pipeline
from trainium_edu.viz.follow import plot_futures, plot_toss
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.picture import Picture

# --- memory ---------------------------------------------------------------------------------------


def kept_table(plain) -> str:
    """Return what a NeuronCore keeps, in bytes per parameter."""
    parts = ("weights", "gradients", "master", "states")
    names = ("weights, BF16", "gradients, BF16", "weights, FP32", "Adam's two means, FP32")
    rows = [f"{name:24}{getattr(plain, part) / plain.parameters:6.2f}"
            for name, part in zip(names, parts, strict=True)]  # fmt: skip
    return "\n".join(["bytes per parameter", *rows, f"{'':24}{plain.bytes_per_parameter:6.2f}"])


def _each(function):
    """Return a wrong model of the four parts, in bytes per parameter."""

    def model(plain, zero, ranks, same):
        parts = (plain.weights, plain.gradients, plain.master, plain.states)
        return round(function(*parts, ranks) / plain.parameters, 2)

    return model


@question(
    "09b/zero-memory",
    "With ZeRO-1 on 32 ranks: how many bytes per parameter does each NeuronCore keep?",
    unit="bytes",
    wrong=[
        Misconception("all is shared out", _each(lambda w, g, m, s, n: (w + g + m + s) / n),
                      "You shared out everything. But forward and backward need all weights on each"
                      " rank, and make all gradients: ZeRO-1 shares only what the optimiser uses."),
        Misconception("FP32 weights stay", _each(lambda w, g, m, s, n: w + g + m + s / n),
                      "Adam's means, yes. The FP32 weights are the optimiser's as well: no rank"
                      " needs those that another updates."),
        Misconception("gradients too", _each(lambda w, g, m, s, n: w + (g + m + s) / n),
                      "That is ZeRO-2, which shares out gradients as well. ZeRO-1 has whole"
                      " gradients on each rank until they are summed."),
        Misconception("nothing is saved", _each(lambda w, g, m, s, n: w + g + m + s),
                      "That is plain data parallelism, where all ranks keep the same. ZeRO-1 lets"
                      " each keep, and update, its part."),
    ],
)  # fmt: skip
def zero_memory(plain, zero, ranks, same):
    """Return the bytes per parameter that ZeRO-1 keeps."""
    told = "the same, bit for bit" if same else "not the same"
    mib = [f"{held.total / 2**20:.1f} MiB" for held in (plain, zero)]
    return Answer(
        round(zero.bytes_per_parameter, 2),
        f"Weights and gradients stay; FP32 weights and Adam's means are cut into {ranks} parts."
        f" With all else that lives in between, {mib[0]} become {mib[1]}.",
        lambda guess: [
            Picture(lambda: plot_memory([("plain", plain), ("ZeRO-1", zero)]),
                    alt=f"Memory of a NeuronCore: plain {mib[0]}, with ZeRO-1 {mib[1]}."),
            kept_table(zero),
            f"weights after five steps in FP32, plain and with ZeRO-1: {told}",
            Prose("What travels is as much as before: an all-reduce is a reduce-scatter and an"
                  " all-gather. ZeRO-1 pays where the optimiser's state is what does not fit."),
        ],
    )  # fmt: skip


# --- a straggler ----------------------------------------------------------------------------------


def _us(function):
    return lambda usual, slow, hidden, times: function(usual, times) / 1e3


@question(
    "09b/straggler",
    "One of the 32 computes 20 % slower. How long is everybody's step?",
    unit="µs",
    wrong=[
        Misconception("the mean", _us(lambda r, t: r.step_ns + r.compute_ns * (t - 1) / r.ranks),
                      "You took the mean of all. But a sum needs every rank's part: 31 arrive in"
                      " time, and wait."),
        Misconception("all of it is slower", _us(lambda r, t: r.step_ns * t),
                      "20 % of the whole step. But the links are as fast as before: only the"
                      " computing takes longer."),
        Misconception("links wait and catch up", _us(lambda r, t: max(
                      r.compute_ns * t, r.communication_ns)),
                      "You let all sums hide behind the computing. Most of this ring's sum comes"
                      " when the backward pass has ended."),
    ],
)  # fmt: skip
def straggler(usual, slow, hidden, times):
    """Return the microseconds of a step that waits for one slow rank."""
    grew = [now.step_ns / before.step_ns - 1 for before, now in ((usual, slow), hidden)]
    return Answer(
        round(slow.step_ns / 1e3, 1),
        f"All wait for one: {slow.straggler_ns / 1e3:.1f} µs, {100 * grew[0]:.0f} % of the step."
        f" Where no sum shows, as with mesh, the same rank costs the whole {100 * grew[1]:.0f} %.",
        lambda guess: [
            step_table({"ring": usual, "ring, one is slow": slow,
                        "mesh": hidden[0], "mesh, one is slow": hidden[1]}),
            Prose("One in 32 decides, and with more ranks it is likelier that one is slow. The mean"
                  " of all ranks hides it; look at the slowest."),
        ],
    )  # fmt: skip


# --- a starved chip -------------------------------------------------------------------------------


def feed(step_ms, workers, prefetch=2):
    """Return the input pipeline of this lesson: photographs for 32 ranks, storage of 4 GB/s."""
    return input_pipeline(step_ms * 1e6, workers=workers, prefetch=prefetch, batch=32,
                          storage_bytes_per_s=4e9, steps=32)  # fmt: skip


def feed_table(pipelines) -> str:
    """Return a line for each (workers, prefetch) → pipeline: how long the chips wait."""
    lines = ["workers  prefetch   chips wait, a step   images per second"]
    lines += [f"{workers:7}{prefetch:10}{p.steady_wait_ns / 1e6:17.0f} ms{p.samples_per_s:17,.0f}"
              for (workers, prefetch), p in pipelines.items()]  # fmt: skip
    return "\n".join(lines)


def enough(step_ms, decode_ms, batch) -> int:
    """Return the fewest workers of each rank with which its chip never waits in the long run."""
    return next(n for n in range(1, 65) if feed(step_ms, n).steady_wait_ns == 0)


@question(
    "09b/workers",
    "How many workers does each rank's loader need, so that its chip does not wait?",
    whole=True,
    wrong=[
        Misconception("one runs ahead", lambda step_ms, decode_ms, batch: 1,
                      "One worker runs beside the chip, true. But it needs longer for a batch than"
                      " the chip for a step, and falls behind with each."),
        Misconception("prefetch makes more", lambda step_ms, decode_ms, batch: math.ceil(
                      batch * decode_ms / step_ms / 2),
                      "You let each worker's two batches count twice. It makes one after the other;"
                      " prefetch only says how many may lie ready."),
        Misconception("for all ranks", lambda step_ms, decode_ms, batch: 32 * math.ceil(
                      batch * decode_ms / step_ms),
                      "That is right for all 32 ranks together. Each has a loader of its own."),
        Misconception("one per image", lambda step_ms, decode_ms, batch: batch,
                      "A worker for each image of the batch. But each has time for several images"
                      " while the chip takes a step."),
    ],
)  # fmt: skip
def workers(step_ms, decode_ms, batch):
    """Return how many workers each rank needs."""
    most = enough(step_ms, decode_ms, batch)
    tried = [(1, 2), (most - 1, 2), (most - 1, 16), (most, 2)]
    found = {(n, ahead): feed(step_ms, n, ahead) for n, ahead in tried}
    starved, fed = found[most - 1, 2], found[most, 2]
    wait = f"{starved.steady_wait_ns / 1e6:.0f} ms"
    return Answer(
        most,
        f"A batch takes one worker {batch * decode_ms:.0f} ms to decode, and the chips take one"
        f" every {step_ms:.0f} ms. With {most - 1} workers they wait {wait} a step, however many"
        " batches may be fetched ahead.",
        lambda guess: [
            Picture(lambda: plot_pipeline(starved), alt=f"With {most - 1} workers the chips wait"
                    f" {wait} before each step."),
            Picture(lambda: plot_pipeline(fed), alt=f"With {most} workers they do not wait."),
            feed_table(found),
            Prose("Prefetch is a cushion: it takes the shock of a batch that comes late, and makes"
                  " none faster. In the long run the slowest of workers, processors, storage and"
                  " chips sets the pace."),
        ],
    )  # fmt: skip


# --- a failure ------------------------------------------------------------------------------------

_RESUMED = ("the same bits", "nearly the same weights", "other weights, about as good")


@question(
    "09b/resumed",
    "The rest is run again from the checkpoint. Compared with a run in which nothing failed, the"
    " weights after step 40 are",
    options=_RESUMED,
    wrong=[
        Misconception("sums differ a little", lambda again, whole, same: _RESUMED[1],
                      "Sums in another order would do that. But the same ranks add in the same"
                      " order, in the same steps."),
        Misconception("other dice", lambda again, whole, same: _RESUMED[2],
                      "Dice thrown anew would do that. But each toss is computed from a seed and"
                      " the step's number, and the checkpoint has both."),
    ],
)  # fmt: skip
def resumed(again, whole, same):
    """Return how equal a resumed run is to one that was never stopped."""
    lost = again.steps[0].number
    return Answer(
        _RESUMED[0] if same else _RESUMED[2],
        "A checkpoint keeps more than weights: the optimiser's state, the place in the order of"
        " images, and what the dice depend on. Without one of these the run would go on, but"
        " elsewhere.",
        lambda guess: (
            f"first step that is taken again: {lost}\nweights after step"
            f" {again.steps[-1].number + 1}: {'the same bits' if same else 'they differ'}"
        ),
    )


# --- one toss -------------------------------------------------------------------------------------


def told(explained, lr) -> str:
    """Return what one needs to work out a weight's toss: gradient, rate, neighbour."""
    e, toss = explained, explained.toss
    place = f"{e.name}[{', '.join(map(str, e.index))}]"
    rows = {
        f"{place} before the step": e.before,
        f"mean of the {len(e.shards)} gradients": e.total * e.scale,
        "learning rate": lr,
        "next BF16 number above": toss.high,
    }
    return "\n".join(f"{name:32}{value:10.6f}" for name, value in rows.items())


def _share(explained) -> int:
    return round(100 * explained.toss.share)


@question(
    "09b/toss",
    "How likely was it that this weight moved up?",
    unit="%",
    above=-1,
    most=100,
    wrong=[
        Misconception("to the nearer", lambda explained: 100 * (explained.toss.share > 0.5),
                      "That is rounding to nearest: always the same way. With dice, the nearer"
                      " neighbour is only the likelier one."),
        Misconception("a coin", lambda explained: 50, "Two neighbours, but no fair coin: the nearer"
                      " one is as much likelier as it is nearer."),
        Misconception("the other way round", lambda explained: 100 - _share(explained),
                      "That is how likely it was to stay. The further it is towards the upper"
                      " neighbour, the likelier up."),
    ],
)  # fmt: skip
def toss(explained):
    """Return the chance in per cent that the toss went up."""
    e, t = explained, explained.toss
    up = e.after == t.high
    adds = sum(hop.adds for hop in e.hops)
    return Answer(
        _share(e),
        f"In FP32 the new value is {e.exact:.6f}, that much of the way to the neighbour. The toss"
        f" took 16 random bits, {t.random_bits} of 65 536, and the weight went"
        f" {'up' if up else 'down'}.",
        lambda guess: [
            Picture(lambda: plot_toss(e), alt=f"{len(e.shards)} gradients, their mean, and the"
                    f" toss: {_share(e)} per cent of the way up."),
            f"{len(e.shards)} ranks, {adds} additions on the way; all ranks threw the same bits",
        ],
    )  # fmt: skip


_WHEN = ("after the very next step", "a few steps later", "not in 20 steps")


@question(
    "09b/flip",
    "Let that one toss fall the other way, on all ranks. When is a digit of the test read"
    " differently for the first time?",
    options=_WHEN,
    wrong=[
        Misconception("at once", lambda futures: _WHEN[0], "One weight of 85 000 moved by less than"
                      " a hundredth: no image was so near the border. It takes other tosses that"
                      " fall otherwise in turn."),
        Misconception("noise averages out", lambda futures: _WHEN[2], "On average it does, and the"
                      " loss hardly shows it. But the other weight changes gradients, these change"
                      " other tosses, and none of them is ever taken back."),
    ],
)  # fmt: skip
def flipped(futures):
    """Return when the first prediction differs."""
    first = futures.first
    passed = len(futures.after)
    value = _WHEN[2] if first is None else _WHEN[0] if passed == 1 else _WHEN[1]
    begun, ended = futures.after[0].weights, futures.after[-1].weights
    near = abs(futures.after[-1].loss - futures.after[-1].loss_if) < 0.01
    return Answer(
        value,
        "Equal at first but for one weight, the two runs drift apart, toss by toss, and the losses"
        + (" stay the same to two digits." if near else " with them."),
        lambda guess: [
            Picture(lambda: plot_futures(futures),
                    alt="Weights that differ between the two runs, and how far the losses differ."),
            f"weights that differ after one step: {begun}; after the last one shown: "
            f"{'more than a hundred' if ended > 100 else ended}",
            Prose("Both runs are as good: it is another network, not a worse one. An emulator can"
                  " take the step again with one bit changed. On the machine you would not even"
                  " know which way it fell. So two runs of one seed may differ there, and that"
                  " alone is no sign of an error."),
        ],
    )  # fmt: skip
