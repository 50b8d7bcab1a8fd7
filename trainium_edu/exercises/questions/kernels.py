"""Questions of lesson 05: rows and tiles, long rows, buffers, hoisted loads, fused attention."""

import numpy as np

import trainium_edu.nki as nki
from trainium_edu.exercises.predict import Answer, question
from trainium_edu.neuroncore.scoreboard import advice
from trainium_edu.specs import SOURCES
from trainium_edu.viz.numbers import board
from trainium_edu.widgets.card import Prose
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


def _us(run, name=""):
    """Return the µs that a run takes, or that an engine works in it, as prose has them."""
    ns = run.timeline.busy_ns(name) if name else run.timeline.makespan_ns
    return f"{ns / 1e3:_.0f}".replace("_", "\u202f")


@question("05/rows")
def rows(slow, tiles):
    """Return how many times as fast tiles are as rows."""
    runs = {"a row at a time": slow, "128 x 512": tiles}
    return Answer(
        _times(slow, tiles),
        wrong={
            "instructions": _instructions(slow) / _instructions(tiles),
            "128 lanes, 128 times": 128,
            "same bytes, same time": 1,
            "only the length of a row": 4,
            "all rows at the same time": 512,
        },
        show=lambda guess: [
            board(runs),
            Prose(
                "**Partitions first**: an engine takes as long for one row as for 128, on Trainium"
                f" two cycles per element of a row ({SOURCES['nki-isa-2.26'].cited},"
                " tensor_tensor). Why not"
                " 128 times faster, then? Vector's own work did shrink a hundredfold, from"
                f" {_us(slow, 'vector')} µs to"
                f" {_us(tiles, 'vector')}; but the bytes did not shrink, and now their transfers"
                f" set the pace: {_us(tiles, 'dma')} of the {_us(tiles)} µs.",
                "Here is what each run says of itself, the costliest first: what is slow, at which"
                " line, what it costs, what to do. The last one names our next step.",
            ),
            advice(runs),
        ],
    )


@question("05/wide")
def wide(by_width):
    """Return how many times as fast the widest tiles are as the narrowest."""
    return Answer(
        _times(by_width[256], by_width[2048]),
        wrong={
            "free up to 4 KiB": 4,
            "free up to 2 KiB, then nothing": 2,
            "rows are what counts": _instructions(by_width[256]) / _instructions(by_width[2048]),
            "same bytes, same time": 1,
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
        wrong={"two at a time": 2, "all stages overlap": 3, "same work, same time": 1},
        show=lambda guess: [
            board({f"buffers={n}": run for n, run in by_buffers.items()}),
            Prose(
                "Four buffers gain something more, eight hardly anything: the transfers themselves"
                " are the bound now. In the picture, which has one buffer, move the sliders: with"
                " twice the DMA bandwidth the second buffer is worth more, with half of it less.",
            ),
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
            "the moving tiles forgotten": 4,
            "half of the loads": 2,
            "once for each row of results": 16,
            "the time": _ns(products["tiled"]) / _ns(products["hoisted"]),
            "transfers for bytes": round(
                _instructions(products["tiled"], "dma_copy")
                / _instructions(products["hoisted"], "dma_copy"),
                1,
            ),
        },
        show=lambda guess: [
            board(products),
            Prose(
                "All four issue the same 512 products, and differ only in what they load. What each"
                " says of itself names the next:",
                "- **tiled** loads the bytes of `rhs` 16 times, and waits for them. *Hoisting* the"
                " stationary tiles spared few bytes; yet the time fell by more than a third, for"
                " their rows of 256 bytes are the slow ones.",
                "- **hoisted** still loads every moving tile for each of 16 rows of results."
                " *Blocking* is what pays: now it is for each of 4.",
                f"- **blocked** keeps the queues at work for {_us(blocked, 'dma')} µs, and Vector"
                f" for {_us(blocked, 'vector')}. *Fully blocked* loads `rhs` once, and the queues"
                f" work for {_us(deep, 'dma')}; but Vector, which adds every result to a sum in"
                f" SBUF, works for {_us(deep, 'vector')}, and the Tensor Engine waits for it. Which"
                " of the two is faster is a tie (their ratio's band contains 1); this one is made"
                " for any K.",
            ),
            roofline(*products.values(), names=list(products), spec=blocked.timeline.spec),
            Prose(
                "The roof is the bound of the engine (flat) and of the memory (slanted). *Tiled*"
                " and *hoisted* stand left of the ridge, where no kernel can be fast, and below"
                " even the slanted roof: short rows do not travel at the sustained rate. The other"
                " two reach about three fifths of the peak; what is left is *time that does not"
                " overlap*. Here is **blocked**: look where the Tensor Engine's lane is empty, and"
                " in its source for the slices that products take of tiles that stay.",
            ),
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
            "the same arithmetic": 1,
            "start and stop counted": 2,
            "instructions": round(_instructions(three) / _instructions(one), 1),
        },
        show=lambda guess: [
            board({"three kernels": three, "fused": one}),
            f"differ by less than 1e-5: {np.allclose(three[-1].outputs, one.outputs, 0, 1e-5)}",
            Prose(
                f"{_bytes(three) / _bytes(one):.0f} times fewer bytes travel, and yet the fused"
                " kernel is not as many times faster: it is no longer bound by transfers. Its time"
                " goes to the chain of small steps for each 128 queries (maximum, exponential, four"
                " transposes, four products); with four such groups there is little to overlap.",
                "On Trainium the three kernels would also pay their start and stop three times, 18"
                f" to 19 µs each ({SOURCES['course-traces'].cited}), which the table leaves out:"
                " counting it, the one kernel wins by a factor of two.",
            ),
        ],
    )
