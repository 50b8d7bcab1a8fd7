"""Two pictures to step through: errors that grow as √n, and a scatter that settles at √(ε/3)."""

import functools

from trainium_edu.numerics import two_laws
from trainium_edu.viz import two_laws as picture
from trainium_edu.widgets.sketch import Page, say, sketch

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

    more = {"more": lambda v: {"n": min(v["n"] + 1, end)}}
    four = {"four": lambda v: {"n": 4 * v["n"] if 4 * v["n"] <= end else 1}}
    return sketch("walk", page, press=more | four, words=_walk_words(walks, end), n=n)


def _walk_words(walks, n) -> list[str]:
    off, size, one = abs(walks.nearest[n - 1]), walks.mean_square[n - 1] ** 0.5, walks.one**0.5
    return say("walk", n=n, s="s" * (n > 1), off=off, size=size, one=one, grown=n**0.5 * one)


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

    press = {"again": lambda v: {"k": (v["k"] + 1) % (last + 1)}}
    return sketch("doubling", page, press=press, words=_doubling_words(found, last), k=k)


def _doubling_words(found, k) -> list[str]:
    now, inverse = found.sums[k], 1 / found.fmt.epsilon
    if k == 0:
        return say("doubling", "begin", now=now, inverse=inverse, gap=found.gaps[0])
    before, gap = found.sums[k - 1], found.gaps[k - 1]
    count = int(found.terms_added[k] - found.terms_added[k - 1])
    sums = {"now": now, "before": before, "gap": gap, "added": before * gap, "count": count}
    shares = {"percent": 100 * found.scatter[k] / now, "settled": 100 * found.saturation}
    said = say("doubling", found=found, inverse=inverse, nearest=found.nearest[k], **sums, **shares)
    return said[: min(k, 2)]
