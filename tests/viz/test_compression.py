"""Judge: the scene's shapes hold the numbers given; the table says which are assumed."""

import numpy as np

from tests.for_each import for_rows, raises
from trainium_edu.numerics.compression import Fields, Sizes
from trainium_edu.specs import TRN1
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.compression import describe_sizes, draw_sizes

SIZES = {"a": Sizes(Fields(2, 1, 6), 10, 12), "b": Sizes(Fields(3, 0.5, 5), 8, 7)}
RATE = TRN1.dma.bytes_per_s.value / 1e9


def shapes(kind, width):
    return [shape[1:] for shape in draw_sizes(SIZES, width=width).shapes if shape[0] == kind]


def axis(width, words):
    """Return the map from places to values of the axis above some words, by two of its numbers."""
    texts = shapes("text", width)
    base = next(y for _, y, said, *_ in texts if said == words) - 18
    xs = {said: x for x, y, said, *_ in texts if y == base}
    low, high = sorted(xs, key=float)[:2]
    slope = (float(high) - float(low)) / (xs[high] - xs[low])
    return lambda x: float(low) + (x - xs[low]) * slope


def bars(width, colour, to_value, tall):
    return [(to_value(x), to_value(x + wide)) for x, _, wide, high, filled, *_
            in shapes("rect", width) if (filled, high) == (colour, tall)]  # fmt: skip


@for_rows("width", 320.0, 560.0, 890.0)
def test_bars_begin_where_the_last_field_ended(width):
    to_value = axis(width, "bits per number (dashed: as it is)")
    fields = {"red": [(0, 1), (0, 0.5)], "blue": [(1, 3), (0.5, 3.5)],
              "green": [(3, 9), (3.5, 8.5)]}  # fmt: skip
    for colour, ends in fields.items():
        drawn = bars(width, COLOURS[colour], to_value, 15.6)
        np.testing.assert_allclose(drawn, ends, atol=0.02)
    for colour, marks in (("ink", [10, 8]), (COLOURS["orange"], [12, 7])):
        drawn = np.mean(bars(width, colour, to_value, 9), axis=1)
        np.testing.assert_allclose(drawn, marks, atol=0.02)
    names = [said for *_, said, anchor, _, _, _ in shapes("text", width) if anchor == "end"]
    assert names[:2] == ["a", "b"]
    assert min(size for *_, size, _ in shapes("text", width)) >= 11


def test_the_table_has_the_same_numbers_and_says_assumed():
    _head, names, *rows = describe_sizes(SIZES).splitlines()
    assert names.split()[-1] == "assumed"
    assert rows[0].split() == ["a", "1.0", "2.0", "6.0", "10.0", "12.0", f"{RATE * 1.6:.0f}"]
    assert len({len(line) for line in (names, *rows)}) == 1


@for_rows("function", draw_sizes, describe_sizes)
def test_nothing_to_show_is_refused(function):
    raises(ValueError, "needs one array or more", function, {})
