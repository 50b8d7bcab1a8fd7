"""Questions of lesson 12: weights kept, an image kept, rows at once, room, pooling, formats."""

import numpy as np

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.numbers import advised, board
from trainium_edu.viz.scene import Scene
from trainium_edu.widgets.kernel_view import kernel_view
from trainium_edu.widgets.sketch import Page, Sketch, slider


def _times(slow, fast, digits=1):
    """Return how many times as fast, rounded as the tables have it."""
    return round(slow.timeline.makespan_ns / fast.timeline.makespan_ns, digits)


def _count(run, name):
    """Return how many instructions of a name a run has."""
    return sum(i.name == name for i in run.timeline.program.instructions)


def _bytes(slow, fast):
    """Return how many times the HBM bytes."""
    return round(slow.timeline.hbm_bytes / fast.timeline.hbm_bytes, 1)


def _us(run, engine):
    """Return the µs that an engine works."""
    return f"{run.timeline.busy_ns(engine) / 1e3:.0f}"


def convolution_film() -> Sketch:
    """Show a convolution of one small image as a film, place by place, and its pooling."""
    rng = np.random.default_rng(2)
    image, window = rng.integers(0, 4, (6, 6)), rng.choice((-1, 1, 2), (3, 3))
    places = [(i, j, window[i, j] * image[i : i + 4, j : j + 4]) for i, j in np.ndindex(3, 3)]
    said = [
        "Each of the nine weights is multiplied with a part of the image that is **its own**, and "
        "the nine products add up. Then of each square of 2 × 2 sums **the largest** is kept."
    ]

    def scene(width, done):
        side, place = min(32.0, width / 22), places[min(done, 9) - 1]
        total = sum((part for _, _, part in places[:done]), np.zeros((4, 4), int))
        now = f"place {done} of 9" if done < 10 else "all nine added, and pooled"
        drawn = Scene(width, 7.4 * side, now)
        lit = {"window": (*place[:2], 1), "image": (*place[:2], 4), "sums": (0, 0, 4)}
        panels = {"window": (0.2, window), "image": (4.4, image), "sums": (11.6, total)}
        if done > 9:
            pooled = total.reshape(2, 2, 2, 2).max((1, 3))
            panels["pooled"], lit = (17, pooled), {"pooled": (0, 0, 2)}
        for name, (left, numbers) in panels.items():
            top, first, size = lit.get(name, (0, 0, 0))
            drawn.text(left * side, 16, name, bold=True)
            for (r, c), number in np.ndenumerate(numbers):
                box = ((left + c) * side, (1 + r) * side, side, side)
                is_lit = top <= r < top + size and first <= c < first + size
                if done > 9 and name == "sums":
                    is_lit = number == pooled[r // 2, c // 2]
                if is_lit and done:
                    drawn.rect(*box, ENGINE["vector" if done > 9 else "tensor"], opacity=0.35)
                drawn.rect(*box, "muted", outline=True)
                at, words = (box[0] + side / 2, box[1] + 0.65 * side), f"{number}".replace("-", "−")
                drawn.text(*at, words, anchor="middle", size=0.46 * side)
        return drawn

    def draw(values) -> Page:
        film = [scene(values["width"], done) for done in range(11)]
        return Page(film[-1], said, film=film, rate=1.2)

    return Sketch([], draw, "Convolution and pooling", words=said)


def nine_places() -> Sketch:
    """Show which part of a small image each place of a 3 × 3 window is multiplied with."""

    def draw(values) -> Page:
        (i, j), side = divmod(values["place"], 3), min(26.0, values["width"] / 20)
        scene = Scene(values["width"], 7.3 * side)
        panels = ((0.2, 3, "window", 1), (5, 6, "image", 4), (13, 4, "sums", 4))
        for left, cells, words, size in panels:
            scene.text(left * side, 16, words, bold=True)
            top, first = (0, 0) if words == "sums" else (i, j)
            for r, c in np.ndindex(cells, cells):
                box = ((left + c) * side, (1 + r) * side, side, side)
                if top <= r < top + size and first <= c < first + size:
                    scene.rect(*box, ENGINE["tensor"], opacity=0.7)
                scene.rect(*box, "muted", outline=True)
        part = f"weights[:, :, {i}, {j}] @ image[:, {i} : {i + 4}, {j} : {j + 4}]"
        return Page(scene, [f"Place {3 * i + j} adds **{part}** to the sums."])

    return Sketch([slider("place", "Place of the window", 0, 8, 5)], draw, "Nine places")


@question("12/weights")
def weights(slow, kept):
    """Return how many times as fast it is to keep the weights."""
    return Answer(
        _times(slow, kept, 0),
        wrong={
            "bytes": _bytes(slow, kept),
            "loads": round(_count(slow, "dma_copy") / _count(kept, "dma_copy"), 1),
            "groups of rows": _groups(kept),
            "nine places, nine times": 9,
        },
        show=lambda guess: [
            board({"one row at a time": slow, "weights kept": kept}),
            ...,
            advised({"weights kept": kept}),
        ],
    )


def _groups(kept):
    """Return how many groups of rows there are: stores of the result."""
    _, _, rows, _ = kept.outputs.shape
    return rows


@question("12/image")
def image(kept, image):
    """Return how many times as fast it is to keep the image's rows."""
    return Answer(
        _times(kept, image, 0),
        wrong={
            "nine places": 9,
            "bytes": _bytes(kept, image),
            "same products, same time": 1,
        },
        terms={"kept_us": _us(kept, "dma"), "image_us": _us(image, "dma")},
        show=lambda guess: [
            board({"weights kept": kept, "image kept": image}),
            ...,
            kernel_view(image),
        ],
    )


@question("12/rows")
def rows(image, fused):
    """Return how many times as fast many rows at once are."""
    return Answer(
        _times(image, fused),
        wrong={
            "products": round(_count(image, "nc_matmul") / _count(fused, "nc_matmul"), 1),
            "same FLOPs, same time": 1,
            "passes of FP32": 4,
        },
        terms={"image_us": _us(image, "tensor"), "fused_us": _us(fused, "tensor")},
        show=lambda guess: board({"image kept": image, "fused": fused}),
    )


@question("12/room")
def room(room, bytes_a_row):
    """Return how many rows of two channels fit into a partition."""
    fit = room // (2 * bytes_a_row)
    return Answer(
        fit,
        wrong={
            "one channel a partition": room // bytes_a_row,
            "all of SBUF": 128 * room // (2 * bytes_a_row),
            "rounded up": fit + 1,
        },
        terms={"block_kib": 2 * 18 * bytes_a_row / 1024},
    )


@question("12/pool")
def pool(plain, pooled):
    """Return how many times as long pooling makes it."""
    return Answer(
        round(pooled.timeline.makespan_ns / plain.timeline.makespan_ns, 2),
        wrong={
            "one more pass": round(
                1 + pooled.timeline.busy_ns("vector") / plain.timeline.makespan_ns, 2
            ),
            "a quarter more": 1.25,
            "fewer bytes": round(pooled.timeline.hbm_bytes / plain.timeline.hbm_bytes, 2),
        },
        terms={"result_mb": f"{np.asarray(plain.outputs).nbytes / 1e6:.1f}"},
        show=lambda guess: board({"without": plain, "with pooling": pooled}),
    )


@question("12/formats")
def formats(half, single):
    """Return how many times as long FP32 takes."""
    return Answer(
        round(single.timeline.makespan_ns / half.timeline.makespan_ns, 1),
        wrong={"bytes": 2, "passes": 4, "same products, same time": 1},
        show=lambda guess: [board({"FP16": half, "FP32": single}), ..., advised({"FP16": half})],
    )
