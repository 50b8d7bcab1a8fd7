"""Questions of lesson 12: weights kept, an image kept, rows at once, room, pooling, formats."""

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.neuroncore.scoreboard import advice, scoreboard
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.kernel_view import kernel_view


def _times(slow, fast, digits=1):
    """Return how many times as fast, rounded as the tables have it."""
    return round(slow.timeline.makespan_ns / fast.timeline.makespan_ns, digits)


def _count(run, name):
    """Return how many instructions of a name a run has."""
    return sum(i.name == name for i in run.timeline.program.instructions)


def _bytes(slow, fast):
    """Return how many times the HBM bytes."""
    return round(slow.timeline.hbm_bytes / fast.timeline.hbm_bytes, 1)


def _result_mb(run):
    """Return the megabytes of a run's result."""
    return f"{np.asarray(run.outputs).nbytes / 1e6:.1f}"


def _us(run, engine):
    """Return the µs that an engine works."""
    return f"{run.timeline.busy_ns(engine) / 1e3:.0f}"


@question(
    "12/weights",
    "How many times faster is the kernel that loads the weights once, in whole rows?",
    unit="times",
    wrong=[
        Misconception("bytes", lambda slow, kept: _bytes(slow, kept), "That many times fewer bytes"
                      " travel. But it is not their number that made the first kernel slow: two"
                      " bytes came at a time."),
        Misconception("loads", lambda slow, kept: round(
                          _count(slow, "dma_copy") / _count(kept, "dma_copy"), 1), "That many"
                      " times fewer transfers, as if each cost the same; one of 16 384 pieces"
                      " keeps the queues busy for much longer than one of 128 rows."),
        Misconception("groups of rows", lambda slow, kept: _groups(kept), "The weights are used"
                      " once for each group of rows, and now loaded once: that alone would give"
                      " this. The loads themselves became faster, too."),
    ],
)  # fmt: skip
def weights(slow, kept):
    """Return how many times as fast it is to keep the weights."""
    return Answer(
        _times(slow, kept, 0),
        "One place of the window is every ninth number of a row: 16 384 pieces of two bytes for"
        " each load. Whole rows come in 128.",
        lambda guess: [
            scoreboard({"one row at a time": slow, "weights kept": kept}),
            Prose(
                "A DMA queue moves a run of neighbouring bytes at a time, one *descriptor*, and"
                f" besides its bytes each takes some {TRN1.timing.dma_buffer_ns.value} ns, as long"
                " as 320 bytes travel. So the weights are loaded as they lie in"
                " memory, all nine places together, and the Tensor Engine picks one place out of"
                " SBUF while it turns it: on chip, a stride costs nothing.",
                "What the kernel says of itself now:",
            ),
            advice({"weights kept": kept}),
        ],
    )


def _groups(kept):
    """Return how many groups of rows there are: stores of the result."""
    _, _, rows, _ = kept.outputs.shape
    return rows


@question(
    "12/image",
    "How many times faster is the kernel that keeps sixteen rows of the image?",
    unit="times",
    wrong=[
        Misconception("nine places", lambda kept, image: 9, "Each row is used for nine places, and"
                      " now loaded once; but the rows also became longer, and fewer."),
        Misconception("bytes", lambda kept, image: _bytes(kept, image), "That many times fewer"
                      " bytes travel; but short rows made them slow as well."),
        Misconception("same products, same time", lambda kept, image: 1, "The products are the"
                      " same, but the Tensor Engine mostly waited for them."),
    ],
)  # fmt: skip
def image(kept, image):
    """Return how many times as fast it is to keep the image's rows."""
    return Answer(
        _times(kept, image, 0),
        "Nine loads became one, and each moves whole rows of the image, one after the other in"
        " memory, instead of 64 bytes at a time.",
        lambda guess: [
            scoreboard({"weights kept": kept, "image kept": image}),
            Prose(
                f"The queues work for {_us(image, 'dma')} µs instead of {_us(kept, 'dma')}. The"
                " moved image is never made: a product reads its rows and columns out of the block"
                " in SBUF, `image[c, :, top + i : top + i + n, j : j + columns]`.",
                "In the timeline the Tensor Engine's lane is now the full one:",
            ),
            kernel_view(image),
        ],
    )


@question(
    "12/rows",
    "One row of 32 pixels a product, or sixteen: how many times faster is the second?",
    unit="times",
    wrong=[
        Misconception("products", lambda image, fused: round(
                          _count(image, "nc_matmul") / _count(fused, "nc_matmul"), 1), "That many"
                      " times fewer products; but each has as many times more columns to stream."),
        Misconception("same FLOPs, same time", lambda image, fused: 1, "The FLOPs are the same."
                      " What a product costs besides them is the same for 32 columns as for 512."),
    ],
)  # fmt: skip
def rows(image, fused):
    """Return how many times as fast many rows at once are."""
    return Answer(
        _times(image, fused),
        "Each product loads its weights into the array first and waits for the pipeline; with 512"
        " columns that is paid a sixteenth as often.",
        lambda guess: [
            scoreboard({"image kept": image, "fused": fused}),
            Prose(
                f"The Tensor Engine works for {_us(fused, 'tensor')} µs instead of"
                f" {_us(image, 'tensor')}. 512 columns of FP32 are a bank of PSUM, and the most"
                f" that one product may have ({SOURCES['nki-trn1-arch'].cited}).",
            ),
        ],
    )


@question(
    "12/room",
    "How many whole rows of 224 pixels, of 256 channels in FP32, fit into a partition of SBUF?",
    unit="rows",
    whole=True,
    wrong=[
        Misconception("one channel a partition", lambda room, bytes_a_row: room // bytes_a_row,
                      "256 channels are two tiles of 128: each partition holds two channels."),
        Misconception("all of SBUF", lambda room, bytes_a_row: 128 * room // (2 * bytes_a_row),
                      "SBUF has 24 MiB, but each partition holds its own channels, and only"
                      " its 192 KiB of them."),
    ],
)  # fmt: skip
def room(room, bytes_a_row):
    """Return how many rows of two channels fit into a partition."""
    fit = room // (2 * bytes_a_row)
    return Answer(
        fit,
        f"{room} bytes in a partition, and two channels of {bytes_a_row} bytes a row.",
        lambda guess: [
            Prose(
                f"So an image of 224 rows in FP32 does not fit, and weights and results need room"
                f" too: blocks of 16 rows, {2 * 18 * bytes_a_row / 1024:.0f} KiB of each partition"
                " with the two rows below that the window needs, leave room for the next"
                " block while this one is being multiplied.",
            ),
        ],
    )


@question(
    "12/pool",
    "How many times as long does it take with pooling as without?",
    unit="times",
    wrong=[
        Misconception("one more pass", lambda plain, pooled: round(
                          1 + pooled.timeline.busy_ns("vector") / plain.timeline.makespan_ns, 2),
                      "Pooling does take that much of Vector's time; but Vector works beside the"
                      " Tensor Engine, which is the busy one."),
        Misconception("fewer bytes", lambda plain, pooled: round(
                          pooled.timeline.hbm_bytes / plain.timeline.hbm_bytes, 2), "That many"
                      " times the bytes travel; but the queues were not what one waits for."),
    ],
)  # fmt: skip
def pool(plain, pooled):
    """Return how many times as long pooling makes it."""
    return Answer(
        round(pooled.timeline.makespan_ns / plain.timeline.makespan_ns, 2),
        "Vector finds the largest while the Tensor Engine is at the next rows, and a quarter of the"
        " result is left to store.",
        lambda guess: [
            scoreboard({"without": plain, "with pooling": pooled}),
            Prose(
                "That is what *fused* means: the result of the convolution never travels. As a"
                f" kernel of its own, pooling would load {_result_mb(plain)} MB again, and pay 18"
                f" to 19 µs to start and stop ({SOURCES['course-traces'].cited}).",
            ),
        ],
    )


@question(
    "12/formats",
    "How many times as long does the whole image take in FP32 as in FP16?",
    unit="times",
    wrong=[
        Misconception("bytes", lambda half, single: 2, "Twice the bytes; but the queues are not"
                      " what one waits for."),
        Misconception("passes", lambda half, single: 4, "Four passes through the array are nearly"
                      " all of it. On top of them, weights of four bytes take longer to load into"
                      " the array."),
        Misconception("same products, same time", lambda half, single: 1, "As many products; but"
                      " the array multiplies 16-bit numbers, and FP32 goes through it in four"
                      " passes."),
    ],
)  # fmt: skip
def formats(half, single):
    """Return how many times as long FP32 takes."""
    return Answer(
        round(single.timeline.makespan_ns / half.timeline.makespan_ns, 1),
        "FP32 goes through the array in four passes, and its weights are slower to load.",
        lambda guess: [
            scoreboard({"FP16": half, "FP32": single}),
            Prose(
                f"In FP16 {half.timeline.mfu:.0%} of the peak: on this clock hardly anything is"
                " left to gain. The band says how sure that is.",
            ),
            advice({"FP16": half}),
        ],
    )
