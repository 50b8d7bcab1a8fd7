"""Set a trait, read the state, no browser.  Judge: the values handed to the drawing function."""

import json

from tests.for_each import for_rows, raises
from tests.widgets.page import send
from trainium_edu.viz.scene import Scene
from trainium_edu.widgets.sketch import Page, Sketch, control, slider


def _sketch():
    seen = []

    def draw(values):
        seen.append(values)
        scene = Scene(values["width"], 50, f"{values['n']} drawn")
        scene.text(0, 20, values["n"])
        return Page(scene, [f"**{values['n']}**"], ranges={"n": (0, 6)} if values["on"] else {})

    kinds = {"options": {"a": "A", "b": "B"}, "value": "a"}
    controls = [slider("n", "Number", 0, 9, 3), control("kind", "choice", "Kind", **kinds),
                control("on", "check", "on", value=False)]  # fmt: skip
    double = ("double", "Twice as many", lambda v: {"n": 2 * v["n"]})
    return Sketch(controls, draw, "Test", press={"double": double}), seen


def test_a_moved_slider_is_drawn_at_once():
    sketch, seen = _sketch()
    sketch.values = {**sketch.values, "n": 5, "width": 700.0, "ask": 1}
    assert seen[-1]["n"] == 5
    assert (sketch.page["scene"]["alt"], sketch.page["scene"]["width"]) == ("5 drawn", 700)
    assert sketch.page["scene"]["svg"].startswith('<svg role="img" aria-label="5 drawn"')
    json.dumps(sketch.page, allow_nan=False)


@for_rows("change",
    {"n": 10}, {"n": -1}, {"n": 2.5}, {"n": True}, {"n": "3"}, {"n": float("nan")}, {"kind": "c"},
     {"on": 1}, {"width": float("inf")}, {"width": None}, {"other": 1},
)  # fmt: skip
def test_impossible_values_are_not_taken(change):
    sketch, _ = _sketch()
    before = dict(sketch.values)
    sketch.values = {**sketch.values, **change}
    assert sketch.values == before


def test_a_page_can_narrow_a_slider():
    sketch, _ = _sketch()
    sketch.set(on=True)
    sketch.values = {**sketch.values, "n": 8}
    assert (sketch.values["n"], sketch.page["ranges"]) == (3, {"n": [0, 6]})


def test_buttons_change_values_and_unknown_ones_nothing():
    sketch, _ = _sketch()
    send(sketch, {"press": "double"})
    assert sketch.values["n"] == 6
    send(sketch, {"press": "nothing"})
    send(sketch, {})
    assert sketch.values["n"] == 6


def test_set_refuses_by_name():
    sketch, _ = _sketch()
    raises(ValueError, "there is no control 'm'", sketch.set, m=1)
    raises(ValueError, "n does not take 99", sketch.set, n=99)


def test_the_stored_notebook_has_a_fixed_repr():
    sketch, _ = _sketch()
    assert repr(sketch) == "Sketch('Test')"
