"""Exercises of lessons 05b and 05c: twenty kernels in rising order, each with a time to beat.

A puzzle is what NumPy makes of arrays, and wrong models by name; ``puzzles.toml`` has its arrays,
their sizes and its bar.  The bar says how many times as long as moving the arrays alone a kernel
may take, or which share of the peak it has to reach.  What moving takes is a kernel's time, too:
:func:`carry`, timed on these arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.exercises import asked
from trainium_edu.exercises.exercise import exercise, reject, words_of
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.viz.bars import Stack, draw_stacks
from trainium_edu.viz.boxes import Boxes
from trainium_edu.viz.numbers import Numbers as Bars

__all__ = ["carry"]


@nki.jit
def carry(*arrays, shape):
    """Load arrays and store an output of some shape, and compute nothing."""
    out = nl.ndarray(shape, dtype=arrays[0].dtype, buffer=nl.shared_hbm)
    for array in arrays:
        for first in range(0, array.shape[0], 128):
            rows = nl.ds(first, min(128, array.shape[0] - first))
            tile = nl.ndarray((rows.size, array.shape[1]), dtype=array.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=array[rows, :])
    blank = nl.ndarray((128, shape[1]), dtype=arrays[0].dtype, buffer=nl.sbuf)
    nisa.memset(dst=blank, value=0.0)
    for first in range(0, shape[0], 128):
        rows = nl.ds(first, min(128, shape[0] - first))
        nisa.dma_copy(dst=out[rows, :], src=blank[: rows.size, :])
    return out


@dataclass(frozen=True, slots=True)
class _Beaten(asked.Figures):
    """Figures of a kernel that beat its bar, with both times as bars."""

    picture: object = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class _Puzzle:
    """A kernel that is asked for, what is right, and the time to beat."""

    right: Callable  #: of the arrays in float64
    wrong: Mapping[str, Callable]  #: by misconception
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

    def wanted(self, arrays, model=None) -> np.ndarray:
        """Return what NumPy, or a wrong model, makes of the arrays."""
        return (model or self.right)(*(array.astype(np.float64) for array in arrays.values()))

    def picture(self, numbers) -> Boxes:
        """Return the task in boxes."""
        arrays = self.drawn(numbers)
        return Boxes({**arrays, "wanted": self.wanted(arrays)})

    def check(self, answer, numbers):
        """Check values, then the time."""
        arrays = self.drawn(numbers)
        wanted = self.wanted(arrays)

        def picture(out, off):
            return Boxes({**arrays, "wanted": wanted, "yours": out}, off)

        wrong = {name: self.wanted(arrays, model) for name, model in self.wrong.items()}
        run = asked.computed(answer, arrays.values(), wanted, wrong, dtype=self.dtype,
                             close=self.close, picture=picture, reads_all=False)  # fmt: skip
        return self._timed(run, arrays, wanted.shape)

    def _timed(self, run, arrays, shape):
        taken_us = run.timeline.makespan_ns / 1e3
        if self.mfu:
            bar_us, bar_words = taken_us * run.timeline.mfu / self.mfu, f"{self.mfu:.0%} of peak"
        else:
            bar_us = self.bar * asked.timed(carry, *arrays.values(), shape=shape) / 1e3
            bar_words = f"{self.bar:g} times what moving the arrays takes"
        said = f"the bar: {bar_us:.1f} µs"
        stack = Stack("Predicted time", "µs", {"yours": taken_us}, bar_us, said, kept="✓ beats it")
        text = f"yours {taken_us:.1f} µs, {said} ({bar_words})"
        picture = Bars(text, draw=partial(draw_stacks, [stack]))
        if taken_us <= bar_us:
            return _Beaten(run, picture=picture)
        count = asked.passes_of(run)
        moves = len(run.program) - count
        told = words_of(__file__)["shared"]["wrong"]["too slow"].format(
            taken_us=taken_us, bar_us=bar_us, bar=bar_words, bytes=run.timeline.hbm_bytes,
            moves=moves, count=f"{count:,}" if count else "no",
        )  # fmt: skip
        reject("too slow", told, picture)


def _puzzle(key, right, wrong=MappingProxyType({})):
    """Return the exercise of a puzzle; its words' table `task` has its arrays, sizes and bar."""
    words = dict(words_of(__file__)[key.partition("/")[2]])
    task = dict(words.pop("task"))
    numbers = {**task.pop("sizes"), "seed": "data"}
    row = _Puzzle(right, wrong, **task)
    made = exercise(key, numbers=numbers, picture=row.picture, **words)
    return made(lambda *given: row.check(*given))


def _softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _mean(x):
    return x.mean(axis=1, keepdims=True)


def _sum(x):
    return x.sum(axis=1, keepdims=True)


def _last_piece(a, b):
    return a[-128:].T @ b[-128:]


# -- lesson 05b: one tile -------------------------------------------------------------------------

copy_tile = _puzzle("05b/copy-tile", lambda x: x)
double = _puzzle("05b/double", lambda x: 2 * x, {
    "not doubled": lambda x: x, "squared": lambda x: x * x,
})  # fmt: skip
add = _puzzle("05b/add", lambda x, y: x + y, {
    "only one": lambda x, y: x, "difference": lambda x, y: x - y, "product": lambda x, y: x * y,
})  # fmt: skip
add_column = _puzzle("05b/add-column", lambda x, b: x + b, {
    "no column": lambda x, b: x, "first of all": lambda x, b: x + b[0],
    "product": lambda x, b: x * b,
})  # fmt: skip
scaled_relu = _puzzle("05b/scaled-relu", lambda x, b: np.maximum(3 * x + b, 0), {
    "no relu": lambda x, b: 3 * x + b, "relu first": lambda x, b: 3 * np.maximum(x, 0) + b,
    "scaled after the sum": lambda x, b: np.maximum(3 * (x + b), 0),
})  # fmt: skip
row_sums = _puzzle("05b/row-sums", _sum, {
    "first column": lambda x: x[:, :1], "mean": _mean,
    "largest": lambda x: x.max(axis=1, keepdims=True),
})  # fmt: skip
every_second = _puzzle("05b/every-second", lambda x: x[:, ::2], {
    "odd ones": lambda x: x[:, 1::2], "first half": lambda x: x[:, : x.shape[1] // 2],
})  # fmt: skip
turn = _puzzle("05b/turn", lambda x: x.T, {"reshaped": lambda x: x.reshape(x.shape[::-1])})
column_sums = _puzzle("05b/column-sums", lambda x: x.sum(axis=0, keepdims=True), {
    "first row": lambda x: x[:1], "mean": lambda x: x.mean(axis=0, keepdims=True),
})  # fmt: skip
running_sums = _puzzle("05b/running-sums", lambda x: x.cumsum(axis=1), {
    "down the rows": lambda x: x.cumsum(axis=0), "product": lambda x: x.cumprod(axis=1),
    "without itself": lambda x: x.cumsum(axis=1) - x,
})  # fmt: skip

# -- lesson 05c: many tiles -----------------------------------------------------------------------

copy_tall = _puzzle("05c/copy-tall", lambda x: x, {
    "first tile again": lambda x: np.tile(x[:128], (len(x) // 128, 1)),
})  # fmt: skip
any_height = _puzzle("05c/any-height", lambda x: -x, {"not negated": lambda x: x})
add_row = _puzzle("05c/add-row", lambda x, v: x + v, {
    "no row": lambda x, v: x, "first number": lambda x, v: x + v[0, 0],
})  # fmt: skip
outer = _puzzle("05c/outer", lambda a, b: a.T * b, {"sum": lambda a, b: a.T + b})
centre = _puzzle("05c/centre", lambda x: x - _mean(x), {
    "minus the sum": lambda x: x - _sum(x), "mean itself": lambda x: 0 * x + _mean(x),
    "mean of columns": lambda x: x - x.mean(axis=0),
})  # fmt: skip
causal = _puzzle("05c/causal", np.tril, {
    "upper half": np.triu, "without the diagonal": lambda x: np.tril(x, -1),
    "one too far": lambda x: np.tril(x, 1),
})  # fmt: skip
long_sum = _puzzle("05c/long-sum", lambda a, b: a.T @ b, {
    "last piece": _last_piece, "first piece": lambda a, b: a[:128].T @ b[:128],
})  # fmt: skip
softmax = _puzzle("05c/softmax", _softmax, {
    "not divided": lambda x: np.exp(x - x.max(axis=1, keepdims=True)), "only exp": np.exp,
    "by columns": lambda x: _softmax(x.T).T,
})  # fmt: skip
rms_norm = _puzzle("05c/rms-norm", lambda x: x / np.sqrt(_mean(x * x)), {
    "sum in place of mean": lambda x: x / np.sqrt(_sum(x * x)),
    "no root": lambda x: x / _mean(x * x),
})  # fmt: skip
fast_matmul = _puzzle("05c/fast-matmul", lambda a, b: a.T @ b, {"last piece": _last_piece})
