"""Judge: the figure's own artists hold the paces given, and the facts that it marks."""

import numpy as np

from trainium_edu.specs import TRN1
from trainium_edu.training.lookups import Pace
from trainium_edu.viz.lookups import describe_paces, plot_paces

PACES = [Pace(w, 2 * w, max(12.0, w / 60), w / 5000, (w / 6000, w / 4500, w / 4000))
         for w in (64, 128, 1024, 2048, 4096)]  # fmt: skip


def test_both_curves_hold_what_was_given_and_documented_sizes_are_marked():
    time, share = plot_paces(PACES).axes
    drawn = {line.get_label(): line.get_ydata() for ax in (time, share) for line in ax.lines}
    np.testing.assert_allclose(drawn["a lookup on our clock"], [100 * p.share for p in PACES])
    np.testing.assert_allclose(drawn["descriptors alone, from the facts"],
                               [100 * p.descriptors_alone[1] for p in PACES])  # fmt: skip
    np.testing.assert_allclose(drawn["its bytes at the documented rate"],
                               [p.row_bytes / 272 for p in PACES])  # fmt: skip
    np.testing.assert_allclose(time.lines[1].get_ydata(), [p.ns_per_row for p in PACES])
    marked = {line.get_xdata()[0] for line in share.lines if len(set(line.get_xdata())) == 1}
    facts = "very_poor_below_bytes", "good_from_bytes", "saturated_from_bytes"
    assert marked == {float(getattr(TRN1.dma, name)) / 2 for name in facts}
    assert [label.get_text() for label in share.get_xticklabels()][2] == "1024\n2 KiB"


def test_the_table_has_the_numbers():
    row = describe_paces(PACES).splitlines()[3].split()
    assert row == ["1,024", "2,048", "17.1", "20.5%"]
