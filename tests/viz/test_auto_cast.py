"""Bars of errors.  Judge: the numbers that were handed in."""

from trainium_edu.viz.auto_cast import plot_auto_cast

ERRORS = {
    "a product": {"none": 0.0, "matmult": 0.002, "all": 0.003},
    "a change": {"none": 0.0, "matmult": 0.0, "all": 1.84},
}


def test_every_error_is_a_bar_with_its_number():
    (ax,) = plot_auto_cast(ERRORS).axes
    widths = sorted(bar.get_width() for bar in ax.patches)
    assert widths == [0.0, 0.002, 0.003, 1.84]
    said = [text.get_text().strip() for text in ax.texts]
    assert said == ["0.2 %", "exact", "0.3 %", "184 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ERRORS)
