"""Questions of lesson 05: rows and tiles, long rows, buffers, hoisted loads, fused attention."""

import numpy as np

import trainium_edu.nki as nki
from trainium_edu.exercises.predict import Answer, question
from trainium_edu.viz.numbers import Numbers, advised, board
from trainium_edu.widgets.kernel_view import kernel_view
from trainium_edu.widgets.roofline import roofline


def _times(slow, fast):
    """Return how many times as fast, to a tenth, as tables have it."""
    return round(_ns(slow) / _ns(fast), 1)


def _ns(run):
    return sum(r.timeline.makespan_ns for r in (run if isinstance(run, tuple) else (run,)))


def _instructions(run, name=""):
    runs = run if isinstance(run, tuple) else (run,)
    names = [i.name for r in runs for i in r.timeline.program.instructions]
    return names.count(name) if name else len(names)


def _bytes(run):
    return sum(r.timeline.hbm_bytes for r in (run if isinstance(run, tuple) else (run,)))


def _traffic(runs):
    """Return the MB that each run moves, as bars."""
    moved = {name: _bytes(run) / 1e6 for name, run in runs.items()}
    words = ", ".join(f"{name} {mb:.3g} MB" for name, mb in moved.items())
    return Numbers(words, "To and from HBM, in MB", moved)


def _us(run, name=""):
    """Return the µs that a run takes, or that an engine works in it, as prose has them."""
    ns = run.timeline.busy_ns(name) if name else run.timeline.makespan_ns
    return f"{ns / 1e3:,.0f}"


@question("05/rows")
def rows(slow, tiles):
    """Return how many times as fast tiles are as rows."""
    runs = {"a row at a time": slow, "128 x 512": tiles}
    return Answer(
        _times(slow, tiles),
        wrong={"instructions": _instructions(slow) / _instructions(tiles)},
        terms={
            "slow_vector_us": _us(slow, "vector"),
            "vector_us": _us(tiles, "vector"),
            "dma_us": _us(tiles, "dma"),
            "tiles_us": _us(tiles),
        },
        show=lambda guess: [board(runs), ..., advised(runs)],
    )


@question("05/wide")
def wide(by_width):
    """Return how many times as fast the widest tiles are as the narrowest."""
    return Answer(
        _times(by_width[256], by_width[2048]),
        wrong={
            "rows are what counts": _instructions(by_width[256]) / _instructions(by_width[2048])
        },
        show=lambda guess: [
            board({f"128 x {n}": run for n, run in by_width.items()}),
            f"128 x 2048 against 128 x 512: {nki.compare(by_width[512], by_width[2048])}",
        ],
    )


@question("05/buffers")
def buffers(by_buffers):
    """Return how many times as fast two buffers are as one."""
    return Answer(
        _times(by_buffers[1], by_buffers[2]),
        show=lambda guess: [
            board({f"buffers={n}": run for n, run in by_buffers.items()}),
            ...,
            kernel_view(by_buffers[1]),
        ],
    )


@question("05/hoisting")
def hoisting(products):
    """Return how many times fewer bytes the hoisted kernel moves."""
    blocked, deep = products["blocked"], products["fully blocked"]
    return Answer(
        round(_bytes(products["tiled"]) / _bytes(products["hoisted"]), 1),
        wrong={
            "the time": _ns(products["tiled"]) / _ns(products["hoisted"]),
            "transfers for bytes": round(
                _instructions(products["tiled"], "dma_copy")
                / _instructions(products["hoisted"], "dma_copy"),
                1,
            ),
        },
        terms={
            "blocked_dma_us": _us(blocked, "dma"),
            "blocked_vector_us": _us(blocked, "vector"),
            "deep_dma_us": _us(deep, "dma"),
            "deep_vector_us": _us(deep, "vector"),
        },
        show=lambda guess: [
            _traffic(products),
            board(products),
            ...,
            roofline(*products.values(), names=list(products), spec=blocked.timeline.spec),
            ...,
            kernel_view(blocked),
        ],
    )


@question("05/fusion")
def fusion(three, one):
    """Return how many times as fast the fused kernel is."""
    return Answer(
        _times(three, one),
        wrong={
            "bytes": round(_bytes(three) / _bytes(one), 1),
            "kernels": len(three),
            "instructions": round(_instructions(three) / _instructions(one), 1),
        },
        terms={"bytes_ratio": _bytes(three) / _bytes(one)},
        show=lambda guess: [
            board({"three kernels": three, "fused": one}),
            "The results differ by less than 1e-5: "
            f"{np.allclose(three[-1].outputs, one.outputs, 0, 1e-5)}",
        ],
    )
