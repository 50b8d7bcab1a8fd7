"""The rounding explorer.  Judge: numerics' own throws; set a trait, read the state."""

import numpy as np
import pytest

from trainium_edu.numerics import cast
from trainium_edu.numerics.dice import throw
from trainium_edu.widgets.rounding_explorer import rounding_explorer


def send(widget, **content):
    widget._receive(widget, content, [])


def test_throws_are_casts_and_add_up():
    dice = rounding_explorer(throws=0, seed=5)
    assert dice.tally["n"] == 0
    up = 0
    for step, n in enumerate((1, 10, 10_000)):
        send(dice, do="throw", n=n)
        x = np.full(n, dice.x, np.float32)
        landed = cast(x, "bf16", "stochastic", seed=5, step=step).astype(float)
        up += int((landed > 1).sum())
        assert dice.tally["up"] == up
    assert dice.tally["n"] == 10_011
    assert len(dice.tally["tosses"]) == 10


def test_dragging_moves_x_and_forgets_the_throws():
    dice = rounding_explorer()
    dice.place = 16384
    assert dice.x == 1 + 2**-9
    assert dice.tally["n"] == 0
    assert float(dice.between.p_up) == 0.25


def test_x_stays_inside_its_gap():
    dice = rounding_explorer()
    dice.place = 10**9
    assert dice.place == 65535
    dice.place = -3
    assert (dice.place, dice.x) == (0, 1.0)


def test_another_format_keeps_the_number():
    dice = rounding_explorer(1024.5, "fp16")
    assert (dice.gap["lower"], dice.gap["upper"], dice.gap["tie_goes_up"]) == (1024, 1025, False)
    dice.format = "bf16"
    assert (dice.x, dice.gap["upper"]) == (1024.5, 1032)
    dice.format = "fp8_e4m3"
    assert dice.format == "bf16"
    assert "normal numbers of fp8_e4m3" in dice.message


@pytest.mark.parametrize("text", ["", "two", "-1", "nan", "1e99", "0", "9" * 500])
def test_a_text_that_is_no_such_number_is_answered_with_a_sentence(text):
    dice = rounding_explorer()
    before = dice.x
    send(dice, do="type", text=text)
    assert dice.message
    assert dice.x == before
    send(dice, do="type", text=" 3.14159 ")
    assert (dice.gap["lower_text"], dice.gap["upper_text"]) == ("3.140625", "3.15625")
    assert dice.message == ""


def test_messages_that_mean_nothing_change_nothing():
    dice = rounding_explorer()
    before = dict(dice.tally)
    for content in ({"do": "throw", "n": 10**12}, {"do": "throw"}, {}, {"n": 1}):
        send(dice, **content)
    assert dice.tally == before


def test_the_bits_shown_are_those_of_the_number():
    dice = rounding_explorer(1.5, "bf16")
    assert dice.gap["kept"] == "0" + "01111111" + "1000000"
    assert dice.gap["kept_up"] == "0" + "01111111" + "1000001"
    assert throw(dice.between, 5).up == 0


def test_the_repr_is_fixed_and_has_the_probability():
    assert repr(rounding_explorer()) == repr(rounding_explorer())
    assert "0.3750" in repr(rounding_explorer())


@pytest.mark.parametrize(
    "options", [{"throws": -1}, {"throws": True}, {"throws": 10**9}, {"fmt": "fp64"}, {"fmt": None}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises((TypeError, ValueError), match=r"(throws|fmt) is .*; it (takes|is one of)"):
        rounding_explorer(**options)
