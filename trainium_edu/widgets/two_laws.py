"""Two pictures to step through: errors that grow as √n, and a scatter that settles at √(ε/3)."""

import functools

from trainium_edu.numerics import two_laws
from trainium_edu.viz import two_laws as picture
from trainium_edu.widgets.sketch import Page, Sketch, slider

__all__ = ["doubling_steps", "walk_steps"]

_walks = functools.lru_cache(maxsize=1)(two_laws.walks)
_doublings = functools.lru_cache(maxsize=1)(two_laws.doublings)


def walk_steps(n: int = 4):
    """Round 1 + 3/1024 to BF16 again and again, and watch the errors add up.

    Parameters
    ----------
    n : int
        Roundings shown first, 1 to 64.

    Returns
    -------
    Sketch
        Value ``n``; buttons ``more`` (one more) and ``four`` (four times as many).
    """
    walks = _walks()
    end = len(walks.nearest)

    def page(values):
        n = int(values["n"])
        return Page(picture.draw_walks(walks, n, width=values["width"]), _walk_words(walks, n))

    press = {
        "more": ("One more", "Round once more", lambda v: {"n": min(v["n"] + 1, end)}),
        "four": (
            "Four times as many",
            "Round four times as often",
            lambda v: {"n": 4 * v["n"] if 4 * v["n"] <= end else 1},
        ),
    }
    return Sketch([slider("n", "Roundings", 1, end, n)], page, "Errors of dice add up",
                  press=press, words=_walk_words(walks, end))  # fmt: skip


def _walk_words(walks, n) -> list[str]:
    size, one = walks.mean_square[n - 1] ** 0.5, walks.one**0.5
    return [
        f"After {n} rounding{'s' * (n > 1)} nearest-even is off by "
        f"**{abs(walks.nearest[n - 1]):.3g}** gaps. Dice are off by nothing on average, and by "
        f"**{size:.2f}** gaps in size (the root of the mean square). One rounding: {one:.2f}; "
        f"√{n} times that: **{n**0.5 * one:.2f}**."
    ]


def doubling_steps(k: int = 1):
    """Let a BF16 sum of small terms double, and watch its scatter.

    Parameters
    ----------
    k : int
        Doublings shown first, 0 to 5.

    Returns
    -------
    Sketch
        Value ``k``; button ``again`` (double again, and from the last back to the start).
    """
    found = _doublings()
    last = found.sums.size - 1

    def page(values):
        step = int(values["k"])
        scene = picture.draw_doublings(found, step, width=values["width"])
        return Page(scene, _doubling_words(found, step))

    press = {"again": ("Double again", "Add terms until the sum has doubled once more",
                       lambda v: {"k": (v["k"] + 1) % (last + 1)})}  # fmt: skip
    return Sketch([slider("k", "Doublings", 0, last, k)], page, "A sum that doubles",
                  press=press, words=_doubling_words(found, last))  # fmt: skip


def _doubling_words(found, k) -> list[str]:
    now, percent = found.sums[k], 100 * found.scatter[k] / found.sums[k]
    if k == 0:
        return [
            f"All runs stand at {now:g}. ε is the gap above 1, {1 / found.fmt.epsilon:g} of which "
            f"make 1; at {now:g} the gap is {found.gaps[0]:g}. Press “Double again”."
        ]
    before, gap = found.sums[k - 1], found.gaps[k - 1]
    count = int(found.terms_added[k] - found.terms_added[k - 1])
    said = [
        f"From {before:g} to {now:g} the gap is **{gap:g}**. A term t across a gap d adds nearly "
        f"t × d to the variance; {count} terms of {found.term:g}, which make {before:g}, add "
        f"nearly {before:g} × {gap:g} = **{before * gap:g}**: the orange square, a quarter of the "
        f"large one, times ε. Scatter of the runs: **{percent:.1f} %** of the sum."
    ]
    if k >= 2:
        said.append(
            f"Each doubling covers one of the three squares around the small one, whose own "
            f"doublings did the same: in the end **a third**. Variance: sum² × ε / 3; scatter: "
            f"sum × **√(ε/3)**, {100 * found.saturation:.1f} % in BF16 (ε = 1/"
            f"{1 / found.fmt.epsilon:g}), however long the sum. (Nearest-even still stands at "
            f"{found.nearest[k]:g}.)"
        )
    return said
