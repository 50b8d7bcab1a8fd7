"""Exercises of lesson 06: place mark_step, find what recompiles, choose buckets, write a vjp."""

import numpy as np

from trainium_edu.exercises.exercise import exercise, reject, short

__all__ = ["bucket_lengths", "layer_norm_vjp"]


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


@exercise(
    "06/buckets",
    title="Buckets under a compile budget",
    answer="choose",
    points=3,
    tests="shapes cost compiles, padding costs work: the least padding for a number of graphs",
    hints=(
        "Every sentence must fit, so the largest bucket is the length of the longest one. A bucket"
        " that is no sentence's length can be lowered to one that is, for free.",
        "Where are many sentences just above a bucket? Even steps and equal shares both ignore that"
        " a few long sentences cost as much padding as many short ones.",
        "Let least[j][k] be the least padded tokens for all sentences up to the j-th length with k"
        " buckets, the last of them that length. It is the minimum over i < j of least[i][k - 1] +"
        " length[j] * (how many sentences lie between i and j).",
    ),
    numbers=lambda draw: {
        "cases": [
            (draw.seed(kind) % 2**32, kind, draw.integer(f"compiles {kind}", 3, 6))
            for kind in ("one hump", "two humps", "a tail")
        ]
    },
)
def bucket_lengths(answer, numbers):
    """Compare the padded tokens with the least there can be; within a hundredth passes."""
    for seed, kind, compiles in numbers.cases:
        lengths = sentence_lengths(seed, kind)
        _check_buckets(answer(list(lengths), compiles), lengths, compiles)


def _check_buckets(got, lengths, compiles):
    if not isinstance(got, list | tuple) or any(type(b) is not int for b in got):
        reject("no list", f"It returned {short(got)}; it should return a list of whole numbers.")
    got = sorted(set(got))
    if len(got) > compiles:
        reject(
            "over the budget",
            f"{len(got)} buckets, and the budget is {compiles} compiles: each bucket is a shape, so"
            " each is a graph of its own.",
        )
    if not got or got[-1] < max(lengths):
        reject(
            "does not fit",
            f"The largest bucket is {got[-1] if got else 0} and the longest sentence has"
            f" {max(lengths)} tokens: it fits nowhere.",
        )
    if got[-1] > max(lengths):
        reject(
            "too large",
            f"The largest bucket is {got[-1]}, and no sentence is longer than {max(lengths)}:"
            " everything in it is padded further than it has to be.",
        )
    mine, least = _padded(lengths, got), _padded(lengths, _best(lengths, compiles))
    if mine <= _WITHIN * least:
        return
    share = f"It computes {mine} tokens, {mine / least:.2f} times the {least} of the best choice."
    for name, believed, feedback in _beliefs(lengths, compiles):
        if mine >= 0.995 * _padded(lengths, believed) and _close(got, believed):
            reject(name, f"{feedback} {share}")
    reject(
        "more padding than needed",
        f"{share} Where do many sentences share a bucket that is much longer than they are?",
    )


def _close(got, believed):
    return len(got) == len(set(believed)) and np.allclose(got, sorted(set(believed)), atol=2)


def _beliefs(lengths, compiles):
    """Return the usual rules of thumb with what they overlook."""
    longest = max(lengths)
    even = [-(-longest * k // compiles) for k in range(1, compiles + 1)]
    shares = [int(n) for n in np.quantile(lengths, np.arange(1, compiles + 1) / compiles)]
    halves = sorted({-(-longest // 2**k) for k in range(compiles)})
    return (
        ("one bucket", [longest], "One graph for all: every sentence is as long as the longest."),
        ("even steps", even, "Buckets at equal distances: most of your sentences share the lowest"
         " ones, and the upper ones are nearly empty."),
        ("equal shares", shares, "As many sentences in each bucket: what counts is not how many,"
         " but how many tokens they are padded by, and the few long ones share one bucket."),
        ("powers of two", halves, "Each bucket is twice the one below: that never wastes more than"
         " half, whatever the lengths are, but you know the lengths."),
    )  # fmt: skip


def _padded(lengths, buckets):
    bounds = np.array(sorted(buckets))
    return int(bounds[np.searchsorted(bounds, lengths)].sum())


def _best(lengths, compiles):
    """Return the best buckets, by a dynamic programme of the check's own."""
    u, count = np.unique(lengths, return_counts=True)
    many = np.concatenate([[0], np.cumsum(count)])
    best = {0: (0, ())}  # after so many distinct lengths: padded tokens, buckets
    found = []
    for _ in range(compiles):
        best = {
            j: min((cost + int(u[j - 1] * (many[j] - many[i])), (*chosen, int(u[j - 1])))
                   for i, (cost, chosen) in best.items() if i < j)
            for j in range(min(best) + 1, len(u) + 1)
        }  # fmt: skip
        if len(u) not in best:
            break
        found.append(best[len(u)])
    return min(found)[1]


# --- a vjp ----------------------------------------------------------------------------------------

_EPS = 1e-5


def _layer_norm(x, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)


@exercise(
    "06/vjp",
    title="A vjp of your own: layer norm",
    answer="layer_norm_vjp",
    points=4,
    tests="reverse mode: from the gradient of a result to that of its input, through mean and spread",
    hints=(
        "With y = (x - mean) / s, every element of a row moves the mean and the spread of its row,"
        " so it moves every element of y. Three ways lead from x to y; their gradients add.",
        "With the mean and s held fixed the answer would be g / s. Through the mean every element"
        " gets minus the row's mean of that. What comes through s?",
        "Through s comes -y times the row's mean of g * y, over s again. Put the three together:"
        " (g - mean(g) - y * mean(g * y)) / s, with s = sqrt(variance + eps).",
    ),
    numbers=lambda draw: {
        "seed": draw.seed("seed") % 2**32,
        "rows": draw.integer("rows", 3, 7),
        "width": draw.integer("width", 5, 12),
        "eps": draw.choice("eps", [1e-5, 1e-3, 0.1]),
    },
)
def layer_norm_vjp(answer, numbers):
    """Compare with central differences of layer norm itself, in float64."""
    rng = np.random.default_rng(numbers.seed)
    shape = numbers.rows, numbers.width
    x = rng.normal(rng.normal(0, 3, (shape[0], 1)), rng.uniform(0.3, 3, (shape[0], 1)), shape)
    g, eps = rng.normal(0.5, 1, shape), numbers.eps
    got = answer(x, g, eps)
    if not isinstance(got, np.ndarray) or got.shape != shape or got.dtype.kind != "f":
        reject(
            "wrong shape",
            f"It returned {short(got)}; the gradient of x has x's shape, {shape}, and is floating"
            " point.",
        )
    right = central_differences(lambda z: float((g * _layer_norm(z, eps)).sum()), x)

    def is_(values):
        return np.allclose(got, values, rtol=1e-4, atol=1e-5 * np.abs(right).max())

    if is_(right):
        return
    y, s = _layer_norm(x, eps), np.sqrt(x.var(-1, keepdims=True) + eps)
    m, spread = g.mean(-1, keepdims=True), (g * y).mean(-1, keepdims=True)
    beliefs = (
        ("forward again", y, "That is layer norm itself. A vjp gives what the loss changes by when"
         " x does, from what it changes by when y does."),
        ("mean and spread fixed", g / s, "Mean and spread are held fixed. They belong to the row:"
         " an element that moves takes them along."),
        ("spread fixed", (g - m) / s, "The mean is accounted for, the spread is not: s moves too"
         " when an element of the row does."),
        ("mean fixed", (g - y * spread) / s, "The spread is accounted for, the mean is not."),
        ("no division", g - m - y * spread, "Nearly: the way through y = (x - mean) / s divides by"
         " s once more."),
        ("sums for means", (g - m * shape[1] - y * spread * shape[1]) / s, "You take sums of the"
         " row where its means belong: each element is one of n in a mean."),
        ("over the batch", (g - g.mean(0) - y * (g * y).mean(0)) / s, "The means run over the"
         " batch. Layer norm knows nothing of other rows; its means are those of a row."),
        ("eps forgotten", _without_eps(x, g), "Without eps that would be right; here it is large"
         " enough to matter. It stands under the root, beside the variance."),
        ("the wrong sign", -right, "All signs are turned round."),
    )  # fmt: skip
    for name, believed, feedback in beliefs:
        if is_(believed):
            reject(name, feedback)
    i = np.unravel_index(np.abs(got - right).argmax(), shape)
    reject(
        "other",
        f"At {tuple(map(int, i))} you have {got[i]:.4g}; moving that element of x a little to both"
        f" sides changes the sum of gradient * y at a rate of {right[i]:.4g}.",
    )


def _without_eps(x, g):
    s = x.std(-1, keepdims=True)
    y = (x - x.mean(-1, keepdims=True)) / s
    return (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True)) / s


def central_differences(function, x, h: float = 1e-5):
    """Return the gradient of a function of an array, each element moved to both sides."""
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        high, low = x.copy(), x.copy()
        high[i] += h
        low[i] -= h
        out[i] = (function(high) - function(low)) / (2 * h)
    return out
