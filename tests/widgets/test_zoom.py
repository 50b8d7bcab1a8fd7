"""The zoom's state.  Judge: the facts it shows, and exact sums."""

import re
from fractions import Fraction
from pathlib import Path

import trainium_edu.widgets.zoom as zoom
from tests.for_each import for_rows, raises
from trainium_edu.specs import TRN2
from trainium_edu.specs.ladder import ladder
from trainium_edu.widgets.zoom import zoom_ladder


def test_every_figure_shows_value_kind_and_who_says_so():
    for shown, rung in zip(zoom_ladder().rungs, ladder(), strict=True):
        for figure, (label, fact) in zip(shown["figures"], rung.figures, strict=True):
            assert (figure["label"], figure["value"]) == (label, fact.pretty)
            assert figure["source"].startswith(f"{fact.kind}: ")
            assert fact.locator in figure["source"]
            assert figure["url"].startswith("https://")


def test_starts_where_asked_and_stays_on_the_ladder():
    assert zoom_ladder("tensor_engine").level == 4
    ladder_widget = zoom_ladder(2)
    ladder_widget.level = 99
    assert ladder_widget.level == 5
    ladder_widget.level = -3
    assert ladder_widget.level == 0


@for_rows("level", -1, 6, "galaxy", True, 1.5, None)
def test_a_level_that_is_not_there_is_refused_in_one_sentence(level):
    raises(ValueError, "choose 0 to 5, or ultracluster, instance", zoom_ladder, level)


def test_beats_are_exact_sums():
    def number(text):
        return Fraction(text.replace("−", "-"))

    for beat in zoom_ladder().beats:
        product = number(beat["weight"]) * number(beat["input"])
        assert number(beat["product"]) == product
        assert number(beat["sum_out"]) == number(beat["sum_in"]) + product


def test_parts_that_figures_are_about_are_places_of_the_drawing():
    levels = zoom_ladder().levels
    for rung in ladder():
        level, labels = levels[rung.key], {label for label, _ in rung.figures}
        assert set(level["parts"]) <= labels, rung.key
        assert set(level["parts"].values()) <= set(level["places"]), rung.key


def test_drawings_count_what_the_chip_has():
    said = str(zoom_ladder("neuroncore", spec=TRN2).levels)
    assert "128 partitions × 224 KiB, filled and emptied by software" in said
    assert "DMA: 16 queues to and from HBM" in said


def test_every_focusable_element_keeps_shortcuts_away_and_has_a_name():
    folder = Path(zoom.__file__).parent / "static"
    files = [folder / "zoom.js", *sorted((folder / "zoom").glob("*.js"))]
    script = "".join(file.read_text(encoding="utf-8") for file in files)
    made = re.findall(r'make\(\s*"(?:button|input|canvas|a|select)",\s*\{\s*(\S+)', script)
    assert len(made) >= 2  # all others come from shared/elements.js and shared/controls.js
    assert all(first.startswith("...focusable(") for first in made)


def test_a_fixed_name_is_stored():
    assert repr(zoom_ladder(3)) == "ZoomLadder(6 levels)"


def test_another_chip_is_counted_from_its_record():
    widget = zoom_ladder("neuroncore", spec=TRN2)
    assert (widget.level, len(widget.rungs)) == (2, 5)
    assert widget.counts == {"cores": 8, "dma": 128, "cc": 20, "queues": 16,
                             "sbuf": "128 partitions × 224 KiB"}  # fmt: skip
    widget.level = 99
    assert widget.level == 4
    raises(ValueError, "choose 0 to 4, or instance, chip", zoom_ladder, "ultracluster", spec=TRN2)
