"""Bars on a scene.  Judges: the numbers drawn, by proportion, and the edges of the page."""

import re

import pytest

from tests.for_each import for_rows
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.specs import TRN1, TRN2
from trainium_edu.viz import bars
from trainium_edu.viz.bars import Stack
from trainium_edu.viz.numbers import Numbers, Table, between_chips
from trainium_edu.viz.scene import Scene

HELD = {"weights": 30.0, "gradients": 10.0, "states": 60.0}


def shapes(scene, kind):
    return [shape for shape in scene.shapes if shape[0] == kind]


def words(scene):
    return [shape[3] for shape in shapes(scene, "text")]


def tall(scene, height):
    """Return the rectangles of one height, from the left: x, width, colour, opacity."""
    return sorted([(r[1], r[3], *r[5:7]) for r in shapes(scene, "rect") if r[4] == height])


@for_rows("width", 400, 890)
def test_the_parts_of_a_stack_are_as_long_as_their_numbers(width):
    scene = bars.draw_stacks([Stack("Memory", "GiB", HELD, 16, "16 GiB")], width=width)
    parts = tall(scene, 38)
    assert [p[2] for p in parts] == list(bars.colours_of(HELD).values())
    lengths = [p[1] + 0.6 for p in parts]
    assert [x / sum(lengths) for x in lengths] == pytest.approx([0.3, 0.1, 0.6], abs=0.002)
    assert "Memory, GiB" in words(scene)
    assert {"weights 30", "16 GiB"} <= set(words(scene))


@for_rows("limit, over", (50.0, 0.5), (99.0, 0.01), (100.0, 0), (120.0, 0))
def test_what_goes_beyond_the_limit_is_underlined(limit, over):
    scene = bars.draw_stacks([Stack("Memory", "GiB", HELD, limit, "the limit")])
    whole = sum(p[1] + 0.6 for p in tall(scene, 38))
    assert sum(p[1] for p in tall(scene, 5)) / whole == pytest.approx(over, abs=0.002)


def test_an_uncertain_part_is_pale():
    scene = bars.draw_stacks([Stack("Bill", "USD", {"a": 3, "b": 1}, unsure=("b",))])
    assert [p[3] for p in tall(scene, 38)] == [1.0, 0.35]


def test_nothing_at_all_still_has_its_axis_and_its_limit():
    scene = bars.draw_stacks([Stack("Memory", "GiB", dict.fromkeys(HELD, 0), 16, "16 GiB")])
    assert not tall(scene, 38)
    assert {"16 GiB", "15"} <= set(words(scene))


def test_no_two_parts_share_a_colour():
    names = ["bubble", "weights", "tensor", "gradients", "data", "master", "update"]
    assert len(set(bars.colours_of(names).values())) == len(names)


@for_rows("width", 420, 890)
def test_a_tornado_begins_with_what_moves_most(width):
    rows = [("failures", 90, 110), ("price", 40, 120), ("use", 150, 70)]
    scene = Scene(width, 0)
    bars.draw_tornado(scene, "Bill", rows, 100, "USD")
    assert [w for w in words(scene) if w in ("failures", "price", "use")] == [
        "price", "use", "failures"]  # fmt: skip
    drawn = [r for r in shapes(scene, "rect") if r[4] == 20]
    shares = [60, 20, 50, 30, 10, 10]  # of price, use, failures: away from 100
    assert [60 * r[3] / drawn[0][3] for r in drawn] == pytest.approx(shares, abs=0.5)
    low, high = drawn[2:4]  # of "use": the low end makes the bill higher
    assert low[1] > high[1]
    assert max(r[1] + r[3] for r in drawn) <= width


def test_a_bar_that_fits_says_so_and_one_that_shrank_shows_from_where():
    fits = bars.draw_stacks([bars.Stack("Memory", "GiB", {"a": 10.0}, 16, "16 GiB", before=40)])
    assert {"✓ fits", "before: 40"} <= set(words(fits))
    (ghost,) = [r for r in shapes(fits, "rect") if r[7]]
    (bar,) = [r for r in shapes(fits, "rect") if r[4] == 38 and not r[7]]
    assert bar[3] / ghost[3] == pytest.approx(10 / 40, abs=0.002)
    over = bars.draw_stacks([bars.Stack("Memory", "GiB", {"a": 40.0}, 16, "16 GiB", before=10)])
    assert not {"✓ fits", "before: 10"} & set(words(over))


def test_rows_share_an_axis_and_a_hidden_part_adds_nothing():
    """Judge: lengths by proportion; sums that hide behind computing end where it ends."""
    rows = {"2": {"compute": 80, "hidden": 4, "exposed": 0},
            "32": {"compute": 80, "hidden": 10, "exposed": 80}}  # fmt: skip
    scene = bars.draw_rows("A step", rows, under="hidden")
    drawn = [r[1:5] for r in shapes(scene, "rect") if r[4] in (20, 4)]
    (x2, _, w2, _), hidden2, (x32, _, w32, _), hidden32, (shown, _, w_shown, _) = drawn
    assert (x2, w2) == (x32, w32)
    assert w_shown == pytest.approx(w32, abs=0.2)
    assert shown == pytest.approx(x32 + w32, abs=0.2)
    for (x, _, w, _), share in ((hidden2, 0.05), (hidden32, 0.125)):
        assert w == pytest.approx(share * w2, abs=0.2)
        assert x + w == pytest.approx(shown, abs=0.2)
    assert {"80", "160"} <= set(words(scene))
    assert scene.alt == "A step: 2 80; 32 160"


def test_dots_stand_where_their_logarithm_does():
    scene = bars.draw_rows("Accesses", {"a": {"": 2.0}, "b": {"": 0.02}, "c": {"": 0.2}}, log=True)
    xs = [r[1] for r in shapes(scene, "rect")]
    assert xs[0] - xs[2] == pytest.approx(xs[2] - xs[1], abs=0.2)


def test_numbers_are_folded_below_bars_that_grow_unless_motion_is_reduced():
    shown = Numbers("a & b", "Times", {"a": {"": 1.0}, "b": {"": 2.0}})
    assert repr(shown) == "a & b"
    page = shown._repr_html_()
    assert page.index("<svg") < page.index("<details>") < page.index("a &amp; b")
    assert "@media(prefers-reduced-motion:no-preference)" in page
    assert "<svg" not in Numbers("a table")._repr_html_()


def test_a_text_in_columns_becomes_a_table():
    table = Table("size     128 elements\nclock    2.8 GHz")
    assert repr(table) == "size     128 elements\nclock    2.8 GHz"
    cells = re.findall("<td[^>]*>([^<]*)</td>", table._repr_html_())
    assert cells == ["size", "128 elements", "clock", "2.8 GHz"]


def test_two_chips_bars_are_their_critical_paths_and_their_facts_are_told():
    """Judges: an engine's pieces add up to the time; the records."""
    core = NeuronCore(values=False)
    tile = core.sbuf((128, 512))
    core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    before, after = (measure(core.program, spec=chip) for chip in (TRN1, TRN2))
    told = repr(between_chips(before, after)).splitlines()
    assert told[:2] == [
        f"{t.spec.name}: Vector Engine {t.makespan_ns / 1e3:.1f}" for t in (before, after)
    ]
    pretty = [chip.vector_engine.clock_hz.pretty for chip in (TRN1, TRN2)]
    assert f"vector_engine.clock_hz: {' -> '.join(pretty)} (documented)" in told
