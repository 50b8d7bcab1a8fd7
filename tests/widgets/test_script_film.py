"""The film of a script.  Judge: the stored record of its run, whose times it has to show."""

from itertools import pairwise

import pytest

from tests.for_each import for_each
from trainium_edu.exercises.lessons import folder
from trainium_edu.torch import programs
from trainium_edu.training.run_record import RunRecord
from trainium_edu.widgets.script_film import script_film

NAMES = ("digits_three_lines", "digits_prints", "digits_falls_back", "digits_starved")


def film(name, **more):
    return script_film(path(name), programs.stored(name).record, **more).film


def path(name):
    return folder() / "programs" / f"{name}.py"


@for_each("name", NAMES)
def test_what_the_chip_runs_is_in_the_film_at_its_time_and_on_its_line(name):
    shown, record = film(name), programs.stored(name).record
    ran = [span for span in shown["spans"] if span["track"] == "chip"]
    for span, one in zip(ran, record.steps, strict=False):
        assert (span["kind"], span["begin_us"], span["end_us"]) == (
            one.kind, one.begin_ns / 1e3, one.end_ns / 1e3,
        )  # fmt: skip
        text = shown["lines"][span["line"] - shown["first"]]
        asks = {"step": "mark_step", "value": "item()", "fallback": "unique"}
        assert asks[one.kind] in text
    assert {one["letter"] for one in ran if one["kind"] == "step"} >= {"B"}


@for_each("name", NAMES)
def test_the_host_does_one_thing_at_a_time_and_nothing_is_cut_off(name):
    shown = film(name)
    spans = sorted((s["begin_us"], s["end_us"]) for s in shown["spans"] if s["track"] == "host")
    for (_, before), (after, _) in pairwise(spans):
        assert after >= before - 1e-6
    assert max(end for _, end in spans) <= shown["end_us"] + 1e-6


def test_before_the_first_question_no_graph_is_named_and_the_film_plays_by_itself():
    shown = film("digits_three_lines", graphs=False)
    assert shown["plays"]
    assert not any(span["letter"] or "raph" in span["words"] for span in shown["spans"])


def test_a_run_without_steps_has_no_film():
    with pytest.raises(ValueError, match="no step ran"):
        script_film(path("digits_plain"), RunRecord("digits_plain.py"))


def test_its_text_tells_how_often_the_chip_ran_and_why():
    record = programs.stored("digits_prints").record
    text = repr(script_film(path("digits_prints"), record, 3))
    assert text.startswith("ScriptFilm(digits_prints.py: 3 values, 3 steps in ")
