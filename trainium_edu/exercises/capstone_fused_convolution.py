"""Exercises of lesson 12: weights turned once, pooling in one instruction, and the capstone.

As in lesson 05 a kernel is asked for its program, which is issued again and timed here.  The
capstone's values are tried on small images; on the large one, where they would take long, its
products, bytes and time are.
"""

import functools
import math

import numpy as np

import trainium_edu.nki as nki
from trainium_edu.exercises.asked import Figures, computed, output, passes_of, report
from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import recognise, reject, reject_if
from trainium_edu.exercises.request import Blank, measured

ASKED_US = {"float16": 720.0, "float32": 3150.0}  #: of the capstone's large image
ASKED_TURNED_US = 20.0
LARGE = (1, 256, 224, 224)
FILTERS = 256


def run(kernel, *arrays, pool_size=1, values=True):
    """Run a convolution as it is written, without the older compiler's passes.

    Parameters
    ----------
    kernel : Kernel
    *arrays : ndarray
        Images (batch, channels, rows, columns), weights (filters, channels, high, wide), bias.
    pool_size : int
    values : bool
        False: predict the time alone.
    """
    return nki.run(kernel, *arrays, pool_size=pool_size, values=values, optimise=False)


def operands(channels, filters, rows, columns, dtype, seed=12) -> tuple:
    """Return one image, 3 × 3 weights and a bias, all whole numbers: any order of sums is exact.

    Returns
    -------
    tuple of ndarray
        (1, channels, rows, columns), (filters, channels, 3, 3), (filters,).
    """
    rng = np.random.default_rng(seed)
    shapes = (1, channels, rows, columns), (filters, channels, 3, 3), (filters,)
    return tuple(rng.integers(-1, 2, shape, dtype=np.int8).astype(dtype) for shape in shapes)


def reference(images, weights, bias, pool_size=1) -> np.ndarray:
    """Return the convolution of images, its squares' largest, and the bias added, as NumPy does it.

    Returns
    -------
    ndarray of float64
        (batch, filters, rows, columns).
    """
    high, wide = weights.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(
        images.astype(np.float64), (high, wide), axis=(2, 3)
    )
    summed = np.einsum("bcrsij,fcij->bfrs", windows, weights.astype(np.float64), optimize=True)
    batch, filters, rows, columns = summed.shape
    n = pool_size
    squares = summed[:, :, : rows // n * n, : columns // n * n].reshape(
        batch, filters, rows // n, n, columns // n, n
    )
    return squares.max((3, 5)) + bias.astype(np.float64)[:, None, None]


@exercise("12/turn")
def turn(answer, numbers):
    """Check (128, 128, high, wide) -> (high * wide, 128, 128), and its time."""
    high, wide = numbers.high, numbers.wide
    rng = np.random.default_rng(numbers.seed)
    weights = rng.standard_normal((128, 128, high, wide)).astype(np.float16)
    shape = (high * wide, 128, 128)
    right = weights.astype(np.float32).transpose(2, 3, 1, 0).reshape(shape)
    wrong = {
        "not turned": right.transpose(0, 2, 1),
        "places turned": right.reshape(high, wide, 128, 128).swapaxes(0, 1).reshape(shape),
    }
    run = computed(answer, (weights,), right, wrong, dtype="float16")
    took_us, moved = run.timeline.makespan_ns / 1e3, run.timeline.hbm_bytes
    if took_us <= ASKED_TURNED_US:
        return Figures(run)
    reject_if(moved > 1.5 * (weights.nbytes + run.outputs[0].nbytes), "loaded again")
    reject("short rows", us=took_us)


@exercise("12/pool-once")
def pool(answer, numbers):
    """Check the largest of squares, and the count of compute instructions."""
    n, rows, columns = numbers.side, numbers.rows, numbers.columns
    rng = np.random.default_rng(numbers.seed)
    x = rng.integers(-9, 10, (128, n * rows, n * columns)).astype(np.float32)
    squares = x.reshape(128, rows, n, columns, n)
    wrong = {
        "corner": squares[:, :, 0, :, 0],
        "one axis": squares.max(4)[:, :, 0],
        "sum": squares.sum((2, 4)),
    }
    run = computed(answer, (x,), squares.max((2, 4)), wrong, side=n)
    reject_if(passes_of(run) > 1, "not in one", passes=passes_of(run))
    return Figures(run)


@exercise("12/fused")
def fused(answer, numbers):
    """Check values with and without pooling, then products, bytes and time of the large image."""
    for channels, pool_size in ((128, 1), (256, 2)):
        arrays = operands(channels, 256, numbers.rows, numbers.columns, numbers.dtype, numbers.seed)
        run = report(answer, *arrays, pool_size=pool_size)
        _expect_values(run, arrays, pool_size, numbers.dtype)
    for dtype, asked in ASKED_US.items():
        run = _large(answer, dtype)
        took_ns, busy_ns = run.timeline.makespan_ns, run.timeline.busy_ns("tensor")
        slow = took_ns > 1e3 * asked
        reject_if(
            slow, "slow", took=took_ns / 1e3, dtype=dtype, asked=asked, busy=busy_ns / took_ns
        )
    return Figures(run, f"256 to 256 channels, 224 x 224, {dtype}")


def _expect_values(run, arrays, pool_size, dtype):
    images, weights, bias = arrays
    right = reference(*arrays, pool_size)
    out = output(run, right.shape, dtype)
    if np.array_equal(out, right):
        return
    beliefs = {
        "no bias": reference(images, weights, 0 * bias, pool_size),
        "flipped": reference(images, weights[:, :, ::-1, ::-1], bias, pool_size),
    }
    recognise(out, beliefs)
    at = tuple(map(int, np.argwhere(out != right)[0]))
    pooling = " with pooling" if pool_size > 1 else ""
    reject(
        "wrong values", images=images, pooling=pooling, at=list(at), got=out[at], wanted=right[at]
    )


_measured = functools.lru_cache(maxsize=2)(measured)  # the grader's rounds differ in small images


def _large(answer, dtype):
    """Return the run of the large image: no values, but all limits, products and bytes."""
    shapes = LARGE, (FILTERS, LARGE[1], 3, 3), (FILTERS,)
    arrays = [Blank(shape, dtype) for shape in shapes]
    run = report(answer, *arrays, measure=_measured, pool_size=2)
    rows, columns = LARGE[2] - 2, LARGE[3] - 2
    needed = 2 * FILTERS * LARGE[1] * 9 * rows * columns
    reject_if(run.timeline.flops < needed, "work left out")
    elements = sum(map(math.prod, shapes)) + FILTERS * rows * columns // 4
    least = elements * np.dtype(dtype).itemsize
    reject_if(run.timeline.hbm_bytes < least, "bytes left out")
    return run
