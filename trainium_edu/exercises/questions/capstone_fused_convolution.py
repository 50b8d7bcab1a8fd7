"""Questions of lesson 12: weights kept, an image kept, rows at once, room, pooling, formats."""

import numpy as np

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.exercises.questions.runs import count, nbytes, ns, times, us
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.numbers import advised, board
from trainium_edu.viz.scene import Scene
from trainium_edu.widgets.kernel_view import kernel_view
from trainium_edu.widgets.sketch import Page, Sketch, slider


def _panel(scene, side, left, name, numbers, lit, colour="tensor", opacity=0.7, spelled=False):
    """Draw a matrix of boxes with its name; `lit` says of each box whether it is coloured."""
    scene.text(left * side, 16, name, bold=True)
    for (r, c), number in np.ndenumerate(numbers):
        box = ((left + c) * side, (1 + r) * side, side, side)
        if lit(r, c):
            scene.rect(*box, ENGINE[colour], opacity=opacity)
        scene.rect(*box, "muted", outline=True)
        if spelled:
            at, words = (box[0] + side / 2, box[1] + 0.65 * side), f"{number}".replace("-", "−")
            scene.text(*at, words, anchor="middle", size=0.46 * side)


def _square(top, first, size):
    """Return what tells whether a box is within a square."""
    return lambda r, c: top <= r < top + size and first <= c < first + size


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
        side, (i, j, _) = min(32.0, width / 22), places[min(done, 9) - 1]
        total = sum((part for _, _, part in places[:done]), np.zeros((4, 4), int))
        now = f"place {done} of 9" if done < 10 else "all nine added, and pooled"
        drawn = Scene(width, 7.4 * side, now)
        on = done > 0
        lit = [_square(i, j, on), _square(i, j, 4 * on), _square(0, 0, 4 * on)]
        panels = [(0.2, "window", window), (4.4, "image", image), (11.6, "sums", total)]
        if done > 9:
            pooled = total.reshape(2, 2, 2, 2).max((1, 3))
            largest = lambda r, c: total[r, c] == pooled[r // 2, c // 2]  # noqa: E731
            lit = [_square(0, 0, 0), _square(0, 0, 0), largest, _square(0, 0, 2)]
            panels.append((17, "pooled", pooled))
        for panel, is_lit in zip(panels, lit, strict=True):
            colour = "vector" if done > 9 else "tensor"
            _panel(drawn, side, *panel, is_lit, colour, opacity=0.35, spelled=True)
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
        _panel(scene, side, 0.2, "window", np.zeros((3, 3)), _square(i, j, 1))
        _panel(scene, side, 5, "image", np.zeros((6, 6)), _square(i, j, 4))
        _panel(scene, side, 13, "sums", np.zeros((4, 4)), _square(0, 0, 4))
        part = f"weights[:, :, {i}, {j}] @ image[:, {i} : {i + 4}, {j} : {j + 4}]"
        return Page(scene, [f"Place {3 * i + j} adds **{part}** to the sums."])

    return Sketch([slider("place", "Place of the window", 0, 8, 5)], draw, "Nine places")


@question("12/weights")
def weights(slow, kept):
    """Return how many times as fast it is to keep the weights."""
    return Answer(
        times(slow, kept, 0),
        wrong={
            "bytes": times(slow, kept, of=nbytes),
            "loads": round(count(slow, "dma_copy") / count(kept, "dma_copy"), 1),
            "groups of rows": kept.outputs.shape[2],  # a store of the result for each
        },
        show=lambda guess: [
            board({"one row at a time": slow, "weights kept": kept}),
            advised({"weights kept": kept}),
        ],
    )


@question("12/image")
def image(kept, image):
    """Return how many times as fast it is to keep the image's rows."""
    return Answer(
        times(kept, image, 0),
        wrong={"bytes": times(kept, image, of=nbytes)},
        terms={"kept_us": us(kept, "dma"), "image_us": us(image, "dma")},
        show=lambda guess: [board({"weights kept": kept, "image kept": image}), kernel_view(image)],
    )


@question("12/rows")
def rows(image, fused):
    """Return how many times as fast many rows at once are."""
    return Answer(
        times(image, fused),
        wrong={"products": round(count(image, "nc_matmul") / count(fused, "nc_matmul"), 1)},
        terms={"image_us": us(image, "tensor"), "fused_us": us(fused, "tensor")},
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
        times(pooled, plain, 2),
        wrong={
            "one more pass": round(1 + pooled.timeline.busy_ns("vector") / ns(plain), 2),
            "fewer bytes": times(pooled, plain, 2, nbytes),
        },
        terms={"result_mb": f"{np.asarray(plain.outputs).nbytes / 1e6:.1f}"},
        show=lambda guess: board({"without": plain, "with pooling": pooled}),
    )


@question("12/formats")
def formats(half, single):
    """Return how many times as long FP32 takes."""
    return Answer(
        times(single, half),
        show=lambda guess: [board({"FP16": half, "FP32": single}), advised({"FP16": half})],
    )
