"""Judge: the figure's own artists hold the numbers given, and say which are assumed."""

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.numerics.compression import Fields, Sizes
from trainium_edu.specs import TRN1
from trainium_edu.viz.compression import describe_sizes, plot_sizes

SIZES = {"a": Sizes(Fields(2, 1, 6), 10, 12), "b": Sizes(Fields(3, 0.5, 5), 8, 7)}
RATE = TRN1.dma.bytes_per_s.value / 1e9


def test_bars_begin_where_the_last_field_ended():
    bits, _ = plot_sizes(SIZES).axes
    bars = {c.get_label(): [(b.get_x(), b.get_width()) for b in c] for c in bits.containers}
    assert bars == {
        "sign, at least": [(0, 1), (0, 0.5)],
        "exponent, at least": [(1, 2), (0.5, 3)],
        "mantissa, at least": [(3, 6), (3.5, 5)],
    }
    drawn = {line.get_label(): line.get_xdata() for line in bits.lines}
    np.testing.assert_array_equal(drawn["this code"], [10, 8])
    np.testing.assert_array_equal(drawn["bzip2"], [12, 7])
    assert [t.get_text() for t in bits.get_yticklabels()] == ["a", "b"]


def test_rates_are_marked_as_assumed_beside_the_documented_one():
    _, rate = plot_sizes(SIZES).axes
    assert rate.get_title().startswith("Assumed")
    (bars,) = rate.containers
    assert [b.get_width() for b in bars] == pytest.approx([RATE * 1.6, RATE * 2])
    assert (rate.lines[0].get_xdata()[0], rate.lines[0].get_label()) == (RATE, "documented")


def test_the_table_has_the_same_numbers_and_says_assumed():
    _head, names, *rows = describe_sizes(SIZES).splitlines()
    assert names.split()[-1] == "assumed"
    assert rows[0].split() == ["a", "1.0", "2.0", "6.0", "10.0", "12.0", f"{RATE * 1.6:.0f}"]
    assert len({len(line) for line in (names, *rows)}) == 1


@for_rows("function", plot_sizes, describe_sizes)
def test_nothing_to_show_is_refused(function):
    raises(ValueError, "needs one array or more", function, {})
