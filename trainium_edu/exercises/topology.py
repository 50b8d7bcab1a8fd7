"""Exercises of lesson 07: hops on a torus, and a placement that makes every exchange one hop."""

import itertools

import numpy as np

from trainium_edu import fabric
from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import compare, is_number, reject, reject_if


def _ring_distance(a, b, extent):
    ahead = (a - b) % extent
    return min(ahead, extent - ahead)


@exercise("07/hops")
def hops(answer, numbers):
    """Check the distance on tori of several shapes, for pairs that tell mistakes apart."""
    rows, columns = numbers.rows, numbers.columns
    rng = np.random.default_rng(numbers.seed)
    corners = [(0, rows * columns - 1), (0, columns - 1), (0, (rows - 1) * columns), (0, columns)]
    others = [tuple(int(c) for c in pair) for pair in rng.integers(rows * columns, size=(20, 2))]
    cases = [(a, b, rows, columns) for a, b in corners + others]
    form = "not a whole number", int

    def along(of_rows, of_columns):
        """Return a wrong model: how far it takes two chips apart in each dimension."""
        return lambda a, b, r, c: of_rows(a // c, b // c, r) + of_columns(a % c, b % c, c)

    def line(p, q, _):
        return abs(p - q)

    beliefs = {
        "no way round": along(line, line),
        "plain numbers as addresses": lambda a, b, *_: (a ^ b).bit_count(),
        "one dimension closes": along(line, _ring_distance),
        "one way round": along(lambda p, q, n: (p - q) % n, lambda p, q, n: (p - q) % n),
    }
    right = along(_ring_distance, _ring_distance)
    compare(answer, cases, right, beliefs, form, what="distances")


@exercise(
    "07/placement",
    numbers=lambda draw: {
        "shape": tuple(draw.choice(f"axis {i}", [2, 4]) for i in range(draw.choice("axes", [4, 5])))
    },
)
def placement(answer, numbers):
    """Check that ranks r and r ^ 1, r ^ 2, r ^ 4, ... sit on one chip or on neighbours."""
    small = [shape for axes in (2, 3) for shape in itertools.product((4, 2), repeat=axes)]
    for shape in (*small, tuple(numbers.shape)):
        _check_placement(answer(shape), shape)


def _check_placement(found, shape):
    chips = int(np.prod(shape))
    ranks = 2 * chips
    if isinstance(found, np.ndarray):
        found = found.tolist()
    reject_if(not isinstance(found, list | tuple) or not all(map(is_number, found)), "no list")
    chip_of = [int(c) for c in found]
    if len(chip_of) != ranks:
        reject("wrong length", shape=shape, chips=chips, ranks=ranks, count=len(chip_of))
    reject_if(any(not 0 <= c < chips for c in chip_of), "no such chip", shape=shape, last=chips - 1)
    counts = np.bincount(chip_of, minlength=chips)
    reject_if(counts.max() > 2, "crowded chip", chip=int(counts.argmax()), ranks=int(counts.max()))
    torus = fabric.torus(*shape)
    hops = np.stack([torus.hops(chip) for chip in range(chips)])
    pairs = ((r, r ^ 1 << k) for k in range(ranks.bit_length() - 1) for r in range(ranks))
    r, partner = max(pairs, key=lambda pair: hops[chip_of[pair[0]], chip_of[pair[1]]])
    most = int(hops[chip_of[r], chip_of[partner]])
    if most <= 1:
        return
    told = {"shape": shape, "r": r, "partner": partner, "most": most}
    told |= {"chip": chip_of[r], "its_chip": chip_of[partner]}
    reject_if(chip_of == [q // 2 for q in range(ranks)], "plain chip numbers", **told)
    reject_if(hops[chip_of[:-1], chip_of[1:]].max() <= 1, "a snake", **told)
    reject("other", **told)
