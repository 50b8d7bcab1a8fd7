"""Exercises of lesson 06: place mark_step, find what recompiles, choose buckets, write a vjp."""

import contextlib
import functools
import io
import math
import warnings

import numpy as np

from trainium_edu.exercises import loops
from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import NotAttempted, array_of, compare_each, reject, reject_if
from trainium_edu.exercises.scripts import Script, draw_scripts, find_the_lines
from trainium_edu.xla.buckets import bill

on_a_device = loops.on_a_device

# --- mark_step ------------------------------------------------------------------------------------

_LOG_EVERY = 4


def _small_training(device, seed, steps):
    """Return what the loop gets: a network, its optimiser, and batches on the device."""
    from trainium_edu.training.nn import MLP
    from trainium_edu.training.optim import SGD
    from trainium_edu.xla.tensor import as_tensor

    rng = np.random.default_rng(seed)
    network = MLP(8, 12, 3)
    shapes = {name: p.shape for name, p in network.named_parameters()}
    network.load_state_dict({n: rng.normal(0, 0.4, shape) for n, shape in shapes.items()})
    network.to(device)
    batches = [
        (as_tensor(rng.normal(0, 1, (16, 8)), device), as_tensor(rng.integers(0, 3, 16), device))
        for _ in range(steps)
    ]
    tensors = dict(network.named_parameters())
    tensors |= {f"{k}/{i}": t for i, pair in enumerate(batches) for k, t in enumerate(pair)}
    return tensors, (network, SGD(network.parameters(), lr=0.1), batches)


loops.SETTINGS["small training"] = _small_training


def reference(seed, steps):
    """Return the arrays that a loop is given, the weights it should end with, and the losses."""
    from trainium_edu.training.nn import cross_entropy

    device = loops.counting_device()
    tensors, (network, optimizer, batches) = _small_training(device, seed, steps)
    given = {name: tensor.numpy() for name, tensor in tensors.items()}
    losses = []
    for images, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        device.mark_step()
        losses.append(loss.item())
    return given, network.state_dict(), losses[_LOG_EVERY - 1 :: _LOG_EVERY]


@exercise("06/mark-step")
def place_mark_step(answer, numbers):
    """Run the graphs that the loop's device ran again, count them, and compare the weights."""
    steps = numbers.steps
    found = answer(loops.LoopRequest("small training", numbers.seed, steps))
    given, weights, losses = reference(numbers.seed, steps)
    try:
        ran, last, logged, marks = loops.run_again(found, given)
    except ValueError as problem:
        reject("cannot be run again", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    if not marks:
        raise NotAttempted("mark_step is called nowhere yet: the loop only records.")
    marked = [one for one in ran if one.marked]
    largest = max((len(one.graph.nodes) for one in marked), default=0)
    early = len(ran) - len(marked)
    reject_if(len(marked) == 1 < steps, "one giant graph", steps=steps, largest=largest)
    if len(marked) < steps:
        reject("several steps a graph", count=len(marked), steps=steps, largest=largest)
    reject_if(len(marked) > steps, "cut in two", count=len(marked), steps=steps)
    reject_if(early, "asks too early", early=early)
    kinds = len({one.graph.fingerprint for one in ran})
    reject_if(kinds > 2, "different graphs", kinds=kinds, steps=steps)
    if len(logged) != len(losses) or not np.allclose(logged, losses, rtol=1e-4):
        reject("other losses", count=len(logged), every=_LOG_EVERY)
    if any(n not in last or not np.allclose(last[n], w, atol=1e-5) for n, w in weights.items()):
        reject("other weights")


# --- the line that recompiles ---------------------------------------------------------------------

_WORDS = words_of(__file__)["scripts"]


def compiles(script: str) -> int:
    """Run a script and return how many graphs were compiled.

    Parameters
    ----------
    script : str
        Lines as :func:`scripts` has them.
    """
    from trainium_edu.xla.tensor import EarlyRun

    device = loops.counting_device()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", EarlyRun)
        exec(compile(script, "script", "exec"), _names(device))
    return sum(event.kind == "compiled" for event in device.compiler.history)


def _names(device):
    """Return the names that the scripts use."""
    from trainium_edu.training.nn import cross_entropy
    from trainium_edu.xla import numpy as xnp
    from trainium_edu.xla.tensor import as_tensor

    rng = np.random.default_rng(0)
    _, (model, optimizer, _) = _small_training(device, 0, 0)

    def batch(size):
        x, y = rng.normal(0, 1, (size, 8)), rng.integers(0, 3, size)
        return as_tensor(x, device), as_tensor(y, device)

    functions = {name: getattr(xnp, name) for name in ("tanh", "square", "concatenate")}
    return functions | {
        "device": device,
        "model": model,
        "optimizer": optimizer,
        "batch": batch,
        "cross_entropy": cross_entropy,
        "noise": lambda shape: rng.normal(0, 0.1, shape),
        "zeros": lambda *shape: as_tensor(np.zeros(shape), device),
    }


def scripts(student: str = "") -> list[Script]:
    """Return the three scripts of a student."""
    return recompiling.numbers(student).scripts


@exercise("06/recompiles", numbers=lambda draw: {"scripts": draw_scripts(draw, _WORDS)})
def recompiling(answer, numbers):
    """Compare with the line that makes each step another graph."""
    find_the_lines(answer, numbers.scripts, _WORDS)


# --- buckets --------------------------------------------------------------------------------------

_WITHIN = 1.01


def sentence_lengths(seed: int, kind: str) -> list[int]:
    """Return the lengths of 300 sentences: most are short, a few are very long."""
    rng = np.random.default_rng(seed)
    if kind == "one hump":
        drawn = rng.lognormal(3.0, 0.6, 300)
    elif kind == "two humps":
        drawn = np.concatenate([rng.normal(14, 3, 200), rng.normal(90, 8, 100)])
    else:
        drawn = np.concatenate([rng.integers(5, 30, 290), rng.integers(300, 500, 10)])
    return [int(n) for n in np.clip(drawn, 3, 512)]


@exercise("06/buckets")
def bucket_lengths(answer, numbers):
    """Compare the padded tokens with the least there can be; within a hundredth passes."""
    for seed, kind, compiles in numbers.cases:
        lengths = sentence_lengths(seed, kind)
        _check_buckets(answer(list(lengths), compiles), lengths, compiles)


def _check_buckets(got, lengths, compiles):
    if not isinstance(got, list | tuple) or any(type(b) is not int for b in got):
        reject("no list", returned=got)
    got = sorted(set(got))
    reject_if(len(got) > compiles, "over the budget", count=len(got), compiles=compiles)
    if not got or got[-1] < max(lengths):
        reject("does not fit", largest=got[-1] if got else 0, longest=max(lengths))
    reject_if(got[-1] > max(lengths), "too large", largest=got[-1], longest=max(lengths))
    mine, least = (
        bill(lengths, buckets).padded_tokens for buckets in (got, best_buckets(lengths, compiles))
    )
    if mine <= _WITHIN * least:
        return
    share = f"It computes {mine} tokens, {mine / least:.2f} times the {least} of the best choice."
    longest = max(lengths)
    shares = np.quantile(lengths, np.arange(1, compiles + 1) / compiles)
    beliefs = {
        "one bucket": [longest],
        "even steps": [-(-longest * k // compiles) for k in range(1, compiles + 1)],
        "equal shares": [int(n) for n in shares],
        "powers of two": sorted({-(-longest // 2**k) for k in range(compiles)}),
    }
    for name, believed in beliefs.items():
        if mine >= 0.995 * bill(lengths, believed).padded_tokens and _close(got, believed):
            reject(name, share=share)
    reject("more padding than needed", share=share)


def _close(got, believed):
    return len(got) == len(set(believed)) and np.allclose(got, sorted(set(believed)), atol=2)


def best_buckets(lengths, compiles):
    """Return the best buckets, by a dynamic programme of the check's own."""
    u, count = np.unique(lengths, return_counts=True)
    many = np.concatenate([[0], np.cumsum(count)])

    @functools.cache
    def best(j, most):
        """Return padded tokens and buckets of the `j` shortest lengths, in `most` buckets."""
        if j == 0 or most == 0:
            return (math.inf if j else 0), ()
        last = int(u[j - 1])
        shorter = ((i, *best(i, most - 1)) for i in range(j))
        return min(
            (cost + last * int(many[j] - many[i]), (*chosen, last)) for i, cost, chosen in shorter
        )

    return best(len(u), compiles)[1]


# --- a vjp ----------------------------------------------------------------------------------------


def gradient(x, g, eps):
    """Return layer norm's gradient, and what goes into it: result, spread, two means."""
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    m, my = g.mean(-1, keepdims=True), (g * y).mean(-1, keepdims=True)
    return (g - m - y * my) / s, y, s, m, my


@exercise("06/vjp")
def layer_norm_vjp(answer, numbers):
    """Compare with the gradient in float64, which a test holds to central differences."""
    rng = np.random.default_rng(numbers.seed)
    shape = numbers.rows, numbers.width
    x = rng.normal(rng.normal(0, 3, (shape[0], 1)), rng.uniform(0.3, 3, (shape[0], 1)), shape)
    g, eps = rng.normal(0.5, 1, shape), numbers.eps
    returned = answer(x, g, eps)
    got = array_of(returned, kinds="f")
    reject_if(got.shape != shape, "wrong shape", returned=returned, shape=shape)
    right, y, s, m, my = gradient(x, g, eps)
    beliefs = {
        "forward again": y,
        "mean and spread fixed": g / s,
        "spread fixed": (g - m) / s,
        "mean fixed": (g - y * my) / s,
        "no division": g - m - y * my,
        "sums for means": (g - m * shape[1] - y * my * shape[1]) / s,
        "over the batch": (g - g.mean(0) - y * (g * y).mean(0)) / s,
        "eps forgotten": gradient(x, g, 0)[0],
        "the wrong sign": -right,
    }
    same = functools.partial(np.isclose, rtol=1e-4, atol=1e-5 * np.abs(right).max())
    compare_each(got, right, beliefs, same)
