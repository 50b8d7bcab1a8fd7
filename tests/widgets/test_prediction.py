"""Predictions: nothing shows before the commit, and a commit cannot be taken back unseen.

Judge: what a learner is promised; error factors against hand-worked ratios.
"""

import json
import math
import re
from functools import partial

import ipywidgets
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.for_each import for_rows, raises
from tests.widgets.page import send
from trainium_edu.widgets import journal
from trainium_edu.widgets import prediction as predict
from trainium_edu.widgets.card import Prose, error_factor, number_strip
from trainium_edu.widgets.prediction import Prediction
from trainium_edu.widgets.static import load


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """Everything that is displayed, with its display id."""
    seen = []
    monkeypatch.setattr(
        predict, "display", lambda data, **how: seen.append((data, how.get("display_id"), how))
    )
    return seen


@pytest.fixture
def committed_by_switch(monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")


def press(widget, value):
    """What the browser sends when the button is pressed."""
    send(widget, {"type": "commit", "value": value})


def told(reveal):
    """Return the text that the notebook stores of a reveal."""
    return reveal.bundle()["text/plain"]


def number():
    return Prediction("02/where", "number", "Where does it stop?", unit="terms")


def test_the_answer_and_what_is_gated_stay_hidden_until_the_commit(shown):
    calls = []
    p = number()
    slider = ipywidgets.IntSlider()
    r = p.reveal(256, "Eight bits.", show=lambda: calls.append(1) or [slider, "a line"])
    r._ipython_display_()
    assert calls == []
    assert slider not in r.children
    stored = {mime: data for mime, data in shown[-1][0].items() if "widget-view" not in mime}
    assert stored  # a widget's view holds an identifier, whose random digits may be any
    assert "256" not in json.dumps(stored) + str([c.value for c in r.children])
    press(p, "128")
    assert calls == [1]
    assert slider in r.children
    text = shown[-1][0]["text/plain"]
    assert text.split("\n")[:4] == [
        "Your prediction: 128 terms", "Answer: 256 terms", "2 times too small.",
        "Eight bits.",
    ]  # fmt: skip
    assert shown[-1][2]["update"] is True
    assert text.endswith("a line")


def test_a_commit_stands_in_the_cell_and_in_the_journal(shown):
    p = number()
    p._ipython_display_()
    assert predict.MIME not in shown[-1][0]
    press(p, "1 000")
    data, display_id, _ = shown[-1]
    assert display_id == shown[0][1]
    assert data[predict.MIME] == {
        "key": "02/where", "kind": "number", "question": "Where does it stop?", "unit": "terms",
        "options": [], "value": 1000.0, "present": 1000.0, "changes_after_answer": 0,
    }  # fmt: skip
    json.dumps(data)
    again = number()  # a new kernel, the same learner
    assert again.committed
    assert again.commitment.counted == 1000.0


def test_a_change_before_the_answer_counts_and_one_after_it_is_recorded_as_such():
    p = number()
    press(p, 10)
    press(p, 20)
    assert (p.commitment.counted, p.commitment.changes_after_answer) == (20, 0)
    r = p.reveal(30)
    press(p, 30)
    assert (p.commitment.counted, p.commitment.present) == (20, 30)
    assert p.commitment.changes_after_answer == 1
    assert "changed after the answer: 30 terms" in told(r)
    assert "the first one counts" in p.status
    assert number().commitment == p.commitment


def test_gate_does_not_count_as_showing_the_answer():
    p = number()
    press(p, 10)
    p.gate("a picture")
    press(p, 20)
    assert p.commitment.changes_after_answer == 0


def test_under_the_switch_everything_shows_as_plain_text_and_nothing_is_stored(
    committed_by_switch, shown
):
    p = number()
    p._ipython_display_()
    assert predict.MIME not in shown[-1][0]
    p.reveal(256, "Eight bits.", show=lambda: "numbers: 1 2 3")._ipython_display_()
    assert shown[-1][0]["text/plain"] == "Answer: 256 terms\nEight bits.\nnumbers: 1 2 3"
    assert shown[-1][0].get("text/html") is None
    assert journal.read("predictions") == []
    raises(ValueError, "TRAINIUM_EDU_COMMITTED", p.commit, 3)


def test_a_still_of_what_is_shown_stands_in_the_notebook(committed_by_switch, shown, monkeypatch):
    formatter = InteractiveShell.instance().display_formatter
    monkeypatch.setattr(formatter, "active_types", formatter.format_types)  # as in a kernel

    class Still:
        def _repr_png_(self):
            return b"\x89PNG"

        def __repr__(self):
            return "Still()"

    number().reveal(1, show=Still())._ipython_display_()
    assert "image/png" in shown[-1][0]
    assert shown[-1][0]["text/plain"].endswith("Still()")


@for_rows("typed, value",
    ("1024", 1024), (" 1,024 ", 1024), ("1 024", 1024), ("1_024", 1024), ("2^10", 1024),
     ("1.5e3", 1500), ("-3", -3), (".5", 0.5), ("1,234,567", 1234567), ("1,234.5", 1234.5),
)  # fmt: skip
def test_numbers_are_read_as_people_type_them(typed, value):
    p = number()
    press(p, typed)
    assert p.commitment.counted == value


@for_rows("typed",
    "", "  ", "abc", "nan", "inf", "1e999", "0,5", "2^99999", "0^-1", "(-1)^.5", None, True,
     [1], {"a": 1}, "x" * 10_000, "--1", "1;2",
)  # fmt: skip
def test_what_is_no_number_is_one_sentence_and_changes_nothing(typed):
    p = number()
    press(p, typed)
    assert not p.committed
    assert p.status.startswith(("Type a number first.", "'", '"'))
    assert len(p.status) < 120
    assert journal.read("predictions") == []


@for_rows("message", None, 3, {}, {"type": "other"}, {"type": "commit"}, [])
def test_strange_messages_from_the_page_do_no_harm(message):
    p = number()
    send(p, message)
    assert not p.committed


def test_choice():
    p = Prediction("08/best", "choice", "Which?", options=["Mesh", "RDH"])
    r = p.reveal("RDH", "Because.")
    press(p, "Ring")
    assert p.status == "Choose one of: Mesh, RDH."
    press(p, "Mesh")
    assert "Not this one." in told(r)
    press(p, "RDH")
    assert "changed after the answer: RDH" in told(r)


def test_order():
    items = ["c", "a", "b"]
    p = Prediction("01/range", "order", "Sort.", options=items)
    r = p.reveal(["a", "b", "c"])
    for wrong in (["a", "b"], ["a", "a", "b"], "abc", ["a", "b", 3], [["a"], "b", "c"]):
        press(p, wrong)
        assert not p.committed
    press(p, ["a", "c", "b"])
    assert "1 of 3 in the right place." in told(r)
    assert "Your prediction: a → c → b" in told(r)
    assert Prediction("01/range", "order", "Sort.", options=items).commitment.counted == (
        "a",
        "c",
        "b",
    )


def test_a_stored_prediction_that_no_longer_fits_the_question_is_left_out():
    press(Prediction("01/q", "choice", "Old?", options=["A", "B"]), "A")
    assert not Prediction("01/q", "choice", "New?", options=["C", "D"]).committed
    assert not Prediction("01/q", "number", "New?").committed


@for_rows("guess, answer, factor",
    (256, 1024, 4), (1024, 256, 4), (-2, -1, 2), (5, 5, 1), (0, 5, None), (5, 0, None),
     (-1, 1, None), (0, 0, 1),
)  # fmt: skip
def test_error_factor(guess, answer, factor):
    assert error_factor(guess, answer) == factor


@pytest.mark.parametrize(("unit", "answer", "guess", "said"), [
    ("%", 38.4, 14, "24.4 points below the answer. Look again."),
        ("%", 76, 77, "Close: 1 point above the answer."),
        ("cycles", 798, 799, "Off by one. Look again."),
        ("hops", 4, 5, "Off by one. Look again."),
        ("workers", 3, 5, "2 above the answer. Look again."),
        ("µs", 100, 85, "15 % below the answer. Look again."),
        ("µs", 100, 95, "Close: 5 % below the answer."),
        ("µs", 100, 250, "2.5 times the answer. Look again."),
        ("times", 2, 1, "2 times too small. Look again."),
])  # fmt: skip
def test_a_guess_that_nobody_foresaw_hears_its_distance_and_what_to_check(
    unit, answer, guess, said
):
    p = Prediction("02/where", "number", "?", unit=unit)
    r = p.reveal(answer, recognise=lambda guess: ("", "Look again."))
    press(p, guess)
    assert told(r).split("\n")[2] == said
    assert "factor of" not in told(r)


@for_rows("guess, answer, share", (24_575, 24_576, 1), (1_024, 3_072, 1 / 3), (-1, 2, -1 / 2))
def test_the_number_line_begins_at_zero(guess, answer, share):
    """Judge: distances from the mark of zero, read from the picture."""
    page = number_strip(guess, answer, str)
    zero, place = (float(re.search(mark + r"([\d.]+)", page).group(1)) for mark in ('d="M', 'cx="'))
    hand = float(re.search(r"L([\d.]+) 25", page).group(1))
    assert (hand - zero) / (place - zero) == pytest.approx(share, abs=1e-3)


def test_numbers_far_apart_stand_on_powers_of_ten():
    """Judge: 20 and 3 000 by their logarithms, between the marks of 10 and 10 000."""
    page = number_strip(20, 3_000, str)
    marks = [float(x) for x in re.findall(r'd="M([\d.]+) 26', page)]
    assert re.findall(r">(\d+)</tspan>", page) == ["1", "2", "3", "4"]
    assert float(re.search(r'cx="([\d.]+)', page).group(1)) == pytest.approx(
        np.interp(math.log10(3_000), range(1, 5), marks), abs=0.1
    )


def test_where_a_ratio_says_nothing_the_difference_is_given():
    p = number()
    r = p.reveal(0)
    press(p, 3)
    assert "Off by 3 terms." in told(r)


@for_rows("key", "", "where", "02/", "/x", "02/a b", 3, None, "02/" + "x" * 99)
def test_keys_are_checked(key):
    raises((TypeError, ValueError), r"is not a key|key is", Prediction, key, "number", "?")


@for_rows("options", [], ["a"], ["a", "a"], list("abcdefghij"))
def test_options_are_checked(options):
    asked = partial(Prediction, "01/a", "choice", "?", options=options)
    raises(ValueError, "two to nine different options", asked)


@for_rows("answer", math.nan, "ten", None)
def test_an_answer_must_answer_the_question(answer):
    raises(ValueError, r"number", number().reveal, answer)


def test_what_fails_to_draw_is_a_sentence_not_a_lost_message():
    p = number()
    r = p.reveal(1, show=lambda: 1 / 0)
    press(p, 1)
    assert "ZeroDivisionError: division by zero" in str([c.value for c in r.children])
    assert "Exactly right." in told(r)


def test_an_unwritable_folder_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "file"))
    p = number()
    press(p, 7)
    assert p.committed
    assert "not kept for next time" in p.status


def test_texts_are_escaped_and_reprs_are_fixed():
    p = number()
    r = p.reveal(1, "<script>alert(1)</script>")
    press(p, 1)
    assert "<script>" not in r.children[0].value
    assert (repr(p), repr(r)) == ("Prediction('02/where')", "Reveal('02/where')")


def test_every_focusable_element_of_the_page_keeps_its_keys():
    """JupyterLab takes keys for commands unless the element itself says no."""
    script = load("prediction.js")
    assert 'const SAFE = { "data-lm-suppress-shortcuts": "true" };' in script
    questions = script[script.index('$modules["prediction/inputs.js"]') :]
    first = re.findall(r'make\("(?:button|input)", \{\s*([^,\s]+)', questions)
    assert first == ["...SAFE"] * 3


def test_prose_shows_marks_links_and_lists_and_nothing_that_is_html():
    """Judge: the marks as they are written in a notebook's prose."""
    said = Prose("**Long** rows < `a * b * c` *pay* ([kung-1982](https://doi.org/x)).", "- one")
    page = said._repr_html_()
    assert "<b>Long</b> rows &lt; <code>a * b * c</code> <i>pay</i>" in page
    assert '<a href="https://doi.org/x" target="_blank" rel="noopener"' in page
    assert ">kung-1982</a>" in page
    assert "display:list-item" in page
    assert repr(said) == "**Long** rows < `a * b * c` *pay* (kung-1982).\n- one"


def test_an_order_is_drawn_place_by_place_with_what_was_put_there():
    asked = Prediction("01/range", "order", "From small to large?", options=["BF16", "FP16", "FP8"])
    shown = asked.reveal(["FP8", "FP16", "BF16"])
    asked.commit(["BF16", "FP16", "FP8"])
    card = shown.children[0].value
    assert "· FP8, where you put BF16" in card
    assert "✓ FP16" in card
    assert "1 of 3 in the right place." in card


def test_a_reason_may_link_its_source(shown):
    p = number()
    r = p.reveal(256, "So says the guide (documented: [kung-1982](https://doi.org/x)).")
    press(p, 256)
    assert ">kung-1982</a>)." in r.children[0].value
    assert "(documented: kung-1982)." in r.bundle()["text/plain"]


@for_rows(
    "unit, said", ("hops", "1 hop"), ("tosses", "1 toss"), ("ns", "1 ns"), ("GB/s", "1 GB/s"),
    ("", "1"),
)  # fmt: skip
def test_one_of_a_unit_is_spelt_as_one(unit, said):
    asked = Prediction("test/one", "number", "How many?", unit=unit)
    assert (asked.spell(1), asked.spell(2)) == (said, f"2 {unit}".strip())
