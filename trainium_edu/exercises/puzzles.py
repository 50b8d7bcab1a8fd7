"""Exercises of lessons 05b and 05c: twenty kernels in rising order, each with a time to beat.

A puzzle is a function of arrays, which returns what NumPy makes of them, and by misconception what
wrong models give; ``puzzles.toml`` has its arrays, their sizes and its bar.  The bar says how many
times as long as moving the arrays alone a kernel may take, or which share of the peak it has to
reach.  What moving takes is a kernel's time, too: :func:`carry`, timed on these arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.exercises import asked
from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import reject
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.viz.bars import Stack, draw_stacks
from trainium_edu.viz.boxes import Boxes
from trainium_edu.viz.numbers import Numbers as Bars

__all__ = ["carry"]


def _rows(height):
    return [nl.ds(first, min(128, height - first)) for first in range(0, height, 128)]


@nki.jit
def carry(*arrays, shape):
    """Load arrays and store an output of some shape, and compute nothing."""
    out = nl.ndarray(shape, dtype=arrays[0].dtype, buffer=nl.shared_hbm)
    for array in arrays:
        for rows in _rows(array.shape[0]):
            tile = nl.ndarray((rows.size, array.shape[1]), dtype=array.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=array[rows, :])
    blank = nl.ndarray((128, shape[1]), dtype=arrays[0].dtype, buffer=nl.sbuf)
    nisa.memset(dst=blank, value=0.0)
    for rows in _rows(shape[0]):
        nisa.dma_copy(dst=out[rows, :], src=blank[: rows.size, :])
    return out


@dataclass(frozen=True, slots=True)
class _Puzzle:
    """A kernel that is asked for, what is right, and the time to beat."""

    gives: Callable  #: of the arrays in float64: what is right, and by misconception what is not
    arrays: Mapping[str, Sequence]  #: name → shape, in numbers or in names of `sizes`
    bar: float = 1.0  #: times what moving the arrays takes
    mfu: float = 0.0  #: share of the peak that is asked for, in place of a bar
    close: float = 0.0  #: to which the output has to agree, in parts of its largest number
    dtype: str = "float32"

    def drawn(self, numbers) -> dict[str, np.ndarray]:
        """Return the arrays: whole numbers from -4 to 4."""
        rng = np.random.default_rng(numbers.seed)
        storage = get_dtype(self.dtype).storage
        return {
            name: rng.integers(-4, 5, [numbers.get(n, n) for n in shape]).astype(storage)
            for name, shape in self.arrays.items()
        }

    def solved(self, arrays) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return what NumPy makes of the arrays, and what wrong models do."""
        return self.gives(*(array.astype(np.float64) for array in arrays.values()))

    def picture(self, numbers) -> Boxes:
        """Return the task in boxes."""
        arrays = self.drawn(numbers)
        return Boxes({**arrays, "wanted": self.solved(arrays)[0]})

    def check(self, answer, numbers):
        """Check values, then the time."""
        arrays = self.drawn(numbers)
        wanted, wrong = self.solved(arrays)

        def drawn(out, off):
            return Boxes({**arrays, "wanted": wanted, "yours": out}, off)

        form = {"dtype": self.dtype, "close": self.close, "reads_all": False}
        run = asked.computed(answer, arrays.values(), wanted, wrong, picture=drawn, **form)
        taken_us = run.timeline.makespan_ns / 1e3
        if self.mfu:
            bar_us, bar_words = taken_us * run.timeline.mfu / self.mfu, f"{self.mfu:.0%} of peak"
        else:
            bar_us = self.bar * asked.timed(carry, *arrays.values(), shape=wanted.shape) / 1e3
            bar_words = f"{self.bar:g} times what moving the arrays takes"
        said = f"the bar: {bar_us:.1f} µs"
        stack = Stack("Predicted time", "µs", {"yours": taken_us}, bar_us, said, kept="✓ beats it")
        text = f"yours {taken_us:.1f} µs, {said} ({bar_words})"
        picture = Bars(text, draw=partial(draw_stacks, [stack]))
        if taken_us <= bar_us:
            return asked.Figures(run, picture=picture)
        count, nbytes = asked.passes_of(run), run.timeline.hbm_bytes
        work = {"moves": len(run.program) - count, "count": f"{count:,}" if count else "no"}
        times = {"taken_us": taken_us, "bar_us": bar_us, "bar": bar_words}
        reject("too slow", picture=picture, nbytes=nbytes, **times, **work)


def _puzzle(key):
    """Turn a function of arrays into an exercise; its words' table `task` has the rest."""
    words = words_of(__file__)
    own = dict(words[key.partition("/")[2]])
    task = dict(own.pop("task"))
    numbers = {**task.pop("sizes"), "seed": "data"}
    wrong = words["shared"]["wrong"] | own.pop("wrong", {})

    def made(gives):
        row = _Puzzle(gives, **task)
        return exercise(key, numbers=numbers, picture=row.picture, wrong=wrong, **own)(row.check)

    return made


def _softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _mean(x):
    return x.mean(axis=1, keepdims=True)


def _sum(x):
    return x.sum(axis=1, keepdims=True)


# -- lesson 05b: one tile -------------------------------------------------------------------------


@_puzzle("05b/copy-tile")
def copy_tile(x):
    return x, {}


@_puzzle("05b/double")
def double(x):
    return 2 * x, {"not doubled": x, "squared": x * x}


@_puzzle("05b/add")
def add(x, y):
    return x + y, {"only one": x, "difference": x - y, "product": x * y}


@_puzzle("05b/add-column")
def add_column(x, b):
    return x + b, {"no column": x, "first of all": x + b[0], "product": x * b}


@_puzzle("05b/scaled-relu")
def scaled_relu(x, b):
    late, early = np.maximum(3 * (x + b), 0), 3 * np.maximum(x, 0) + b
    wrong = {"no relu": 3 * x + b, "relu first": early, "scaled after the sum": late}
    return np.maximum(3 * x + b, 0), wrong


@_puzzle("05b/row-sums")
def row_sums(x):
    largest = x.max(axis=1, keepdims=True)
    return _sum(x), {"first column": x[:, :1], "mean": _mean(x), "largest": largest}


@_puzzle("05b/every-second")
def every_second(x):
    return x[:, ::2], {"odd ones": x[:, 1::2], "first half": x[:, : x.shape[1] // 2]}


@_puzzle("05b/turn")
def turn(x):
    return x.T, {"reshaped": x.reshape(x.shape[::-1])}


@_puzzle("05b/column-sums")
def column_sums(x):
    return _sum(x.T).T, {"first row": x[:1], "mean": _mean(x.T).T}


@_puzzle("05b/running-sums")
def running_sums(x):
    right = x.cumsum(axis=1)
    wrong = {"down the rows": x.cumsum(axis=0), "product": x.cumprod(axis=1)}
    return right, {**wrong, "without itself": right - x}


# -- lesson 05c: many tiles -----------------------------------------------------------------------


@_puzzle("05c/copy-tall")
def copy_tall(x):
    return x, {"first tile again": np.tile(x[:128], (len(x) // 128, 1))}


@_puzzle("05c/any-height")
def any_height(x):
    return -x, {"not negated": x}


@_puzzle("05c/add-row")
def add_row(x, v):
    return x + v, {"no row": x, "first number": x + v[0, 0]}


@_puzzle("05c/outer")
def outer(a, b):
    return a.T * b, {"sum": a.T + b}


@_puzzle("05c/centre")
def centre(x):
    wrong = {"minus the sum": x - _sum(x), "mean itself": 0 * x + _mean(x)}
    return x - _mean(x), {**wrong, "mean of columns": x - x.mean(axis=0)}


@_puzzle("05c/causal")
def causal(x):
    wrong = {"upper half": np.triu(x), "without the diagonal": np.tril(x, -1)}
    return np.tril(x), {**wrong, "one too far": np.tril(x, 1)}


@_puzzle("05c/long-sum")
def long_sum(a, b):
    return a.T @ b, {"last piece": a[-128:].T @ b[-128:], "first piece": a[:128].T @ b[:128]}


@_puzzle("05c/softmax")
def softmax(x):
    above = np.exp(x - x.max(axis=1, keepdims=True))
    wrong = {"not divided": above, "only exp": np.exp(x), "by columns": _softmax(x.T).T}
    return _softmax(x), wrong


@_puzzle("05c/rms-norm")
def rms_norm(x):
    mean = _mean(x * x)
    wrong = {"sum in place of mean": x / np.sqrt(_sum(x * x)), "no root": x / mean}
    return x / np.sqrt(mean), wrong


@_puzzle("05c/fast-matmul")
def fast_matmul(a, b):
    a, b = a.astype(np.float32), b.astype(np.float32)  # sums below 2**24: exact
    return a.T @ b, {"last piece": a[-128:].T @ b[-128:]}
