"""Questions of lesson 05: rows and tiles, long rows, buffers, hoisted loads, fused attention."""

from functools import partial

import numpy as np

import trainium_edu.nki as nki
from trainium_edu.exercises.predict import Answer, question
from trainium_edu.exercises.questions.runs import count, nbytes, ns, times, us
from trainium_edu.viz.numbers import Numbers, advised, board
from trainium_edu.widgets.kernel_view import kernel_view
from trainium_edu.widgets.roofline import roofline


def _traffic(runs):
    """Return the MB that each run moves, as bars."""
    moved = {name: nbytes(run) / 1e6 for name, run in runs.items()}
    words = ", ".join(f"{name} {mb:.3g} MB" for name, mb in moved.items())
    return Numbers(words, "To and from HBM, in MB", moved)


@question("05/rows")
def rows(slow, tiles):
    """Return how many times as fast tiles are as rows."""
    runs = {"a row at a time": slow, "128 x 512": tiles}
    return Answer(
        times(slow, tiles),
        wrong={"instructions": count(slow) / count(tiles)},
        terms={
            "slow_vector_us": us(slow, "vector"),
            "vector_us": us(tiles, "vector"),
            "dma_us": us(tiles, "dma"),
            "tiles_us": us(tiles),
        },
        show=lambda guess: [board(runs), advised(runs)],
    )


@question("05/wide")
def wide(by_width):
    """Return how many times as fast the widest tiles are as the narrowest."""
    return Answer(
        times(by_width[256], by_width[2048]),
        wrong={"rows are what counts": count(by_width[256]) / count(by_width[2048])},
        show=lambda guess: [
            board({f"128 x {n}": run for n, run in by_width.items()}),
            f"128 x 2048 against 128 x 512: {nki.compare(by_width[512], by_width[2048])}",
        ],
    )


@question("05/buffers")
def buffers(by_buffers):
    """Return how many times as fast two buffers are as one."""
    return Answer(
        times(by_buffers[1], by_buffers[2]),
        show=lambda guess: [
            board({f"buffers={n}": run for n, run in by_buffers.items()}),
            kernel_view(by_buffers[1]),
        ],
    )


@question("05/hoisting")
def hoisting(products):
    """Return how many times fewer bytes the hoisted kernel moves."""
    tiled, hoisted, blocked, deep = products.values()
    return Answer(
        times(tiled, hoisted, of=nbytes),
        wrong={
            "the time": ns(tiled) / ns(hoisted),
            "transfers for bytes": times(tiled, hoisted, of=partial(count, name="dma_copy")),
        },
        terms={
            "blocked_dma_us": us(blocked, "dma"),
            "blocked_vector_us": us(blocked, "vector"),
            "deep_dma_us": us(deep, "dma"),
            "deep_vector_us": us(deep, "vector"),
        },
        show=lambda guess: [
            _traffic(products),
            board(products),
            roofline(*products.values(), names=list(products), spec=blocked.timeline.spec),
            kernel_view(blocked),
        ],
    )


@question("05/fusion")
def fusion(three, one):
    """Return how many times as fast the fused kernel is."""
    return Answer(
        times(three, one),
        wrong={
            "bytes": times(three, one, of=nbytes),
            "kernels": len(three),
            "instructions": times(three, one, of=count),
        },
        terms={"bytes_ratio": nbytes(three) / nbytes(one)},
        show=lambda guess: [
            board({"three kernels": three, "fused": one}),
            "The results differ by less than 1e-5: "
            f"{np.allclose(three[-1].outputs, one.outputs, 0, 1e-5)}",
        ],
    )
