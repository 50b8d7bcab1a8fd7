"""The rounding explorer.  Judge: numerics' own trials; set a trait, read the state."""

import numpy as np

from tests.for_each import for_rows, raises
from tests.widgets.page import send
from trainium_edu.numerics import cast
from trainium_edu.numerics.gaps import round_repeatedly
from trainium_edu.widgets.rounding_explorer import rounding_explorer


def test_trials_are_casts_and_add_up():
    explorer = rounding_explorer(trials=0, seed=5)
    assert explorer.tally["n"] == 0
    up = 0
    for step, n in enumerate((1, 10, 10_000)):
        send(explorer, {"do": "round", "n": n})
        x = np.full(n, explorer.x, np.float32)
        landed = cast(x, "bf16", "stochastic", seed=5, step=step).astype(float)
        up += int((landed > 1).sum())
        assert explorer.tally["up"] == up
    assert (explorer.tally["n"], len(explorer.tally["random_bits"])) == (10_011, 10)


def test_dragging_moves_x_and_forgets_the_trials():
    explorer = rounding_explorer()
    explorer.place = 16384
    assert (explorer.x, explorer.tally["n"]) == (1 + 2**-9, 0)
    assert float(explorer.between.p_up) == 0.25


def test_x_stays_inside_its_gap():
    explorer = rounding_explorer()
    explorer.place = 10**9
    assert explorer.place == 65535
    explorer.place = -3
    assert (explorer.place, explorer.x) == (0, 1.0)


def test_another_format_keeps_the_number():
    explorer = rounding_explorer(1024.5, "fp16")
    assert (explorer.gap["lower"], explorer.gap["upper"], explorer.gap["tie_goes_up"]) == (
        1024,
        1025,
        False,
    )
    explorer.format = "bf16"
    assert (explorer.x, explorer.gap["upper"]) == (1024.5, 1032)
    explorer.format = "fp8_e4m3"
    assert explorer.format == "bf16"
    assert "normal numbers of fp8_e4m3" in explorer.message


@for_rows("text", "", "two", "-1", "nan", "1e99", "0", "9" * 500)
def test_a_text_that_is_no_such_number_is_answered_with_a_sentence(text):
    explorer = rounding_explorer()
    before = explorer.x
    send(explorer, {"do": "type", "text": text})
    assert explorer.message
    assert explorer.x == before
    send(explorer, {"do": "type", "text": " 3.14159 "})
    assert (explorer.gap["lower_text"], explorer.gap["upper_text"]) == ("3.140625", "3.15625")
    assert explorer.message == ""


def test_messages_that_mean_nothing_change_nothing():
    explorer = rounding_explorer()
    before = dict(explorer.tally)
    for content in ({"do": "round", "n": 10**12}, {"do": "round"}, {}, {"n": 1}):
        send(explorer, content)
    assert explorer.tally == before


def test_the_bits_shown_are_those_of_the_number():
    explorer = rounding_explorer(1.5, "bf16")
    assert explorer.gap["kept"] == "0" + "01111111" + "1000000"
    assert explorer.gap["kept_up"] == "0" + "01111111" + "1000001"
    assert round_repeatedly(explorer.between, 5).up == 0


def test_the_repr_is_fixed_and_has_the_probability():
    assert repr(rounding_explorer()) == repr(rounding_explorer())
    assert "0.3750" in repr(rounding_explorer())


@for_rows(
    "options", {"trials": -1}, {"trials": True}, {"trials": 10**9}, {"fmt": "fp64"}, {"fmt": None}
)
def test_impossible_options_are_refused(options):
    raises((TypeError, ValueError), r"(trials|fmt) is .*; it must be", rounding_explorer, **options)
