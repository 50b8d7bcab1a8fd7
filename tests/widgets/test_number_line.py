"""Set a trait, read the state, no browser.  Judges: ml_dtypes' casts, NumPy's float16."""

import json

import ml_dtypes
import numpy as np

from tests.for_each import for_rows, raises
from tests.widgets.page import send
from trainium_edu.numerics import FORMATS, configure
from trainium_edu.widgets.number_line import number_line_explorer, parse_number


def _row(line, name):
    return next(row for row in line.answer["rows"] if row["name"] == name)


def test_moving_x_answers_with_what_a_cast_gives():
    line = number_line_explorer()
    for x in (0.1, -2.71828, 201.0, 1e-3, 239.9):
        line.view = {**line.view, "x": x}
        assert _row(line, "bf16")["value"] == float(np.float32(x).astype(ml_dtypes.bfloat16))
        assert _row(line, "fp16")["value"] == float(np.float16(x))
        assert _row(line, "fp8_e4m3")["value"] == float(np.float32(x).astype(ml_dtypes.float8_e4m3))


def test_an_overflow_is_said_and_points_outwards():
    line = number_line_explorer(70_000, ["fp16", "bf16", "int8"])
    row = _row(line, "fp16")
    assert (row["value"], row["way"], row["lands"]) == (None, 1, "infinity")
    assert "too large" in row["sentence"]
    assert _row(line, "int8")["lands"] == "127"
    line.x = -70_000
    assert _row(line, "fp16")["way"] == -1


def test_everything_the_page_gets_is_strict_json():
    for x in (0, -0.0, 1e-45, 3e38, -3e38, 1 / 3):
        line = number_line_explorer(x, list(FORMATS))
        json.dumps([line.view, line.answer, line.formats], allow_nan=False)


@for_rows(
    "change", {"x": float("nan")}, {"lo": 2.0, "hi": 1.0}, {"hi": float("inf")}, {"x": "three"},
    {"shown": None}, {"width": "wide"}, {"lo": 1.0, "hi": 1.0 + 1e-12},
)  # fmt: skip
def test_an_impossible_view_is_not_taken(change):
    line = number_line_explorer(1.0)
    before = dict(line.view)
    line.view = {**line.view, **change}
    assert line.view == before


@for_rows(
    "text, value", ("0.1", 0.1), ("1/3", 1 / 3), ("−2", -2.0), ("pi", np.pi), ("6e4", 6e4),
    (" 1_000 ", 1000.0),
)  # fmt: skip
def test_numbers_are_read_as_learners_write_them(text, value):
    assert parse_number(text) == value


@for_rows("text", "", "x", "1/0", "1/", "nan", "inf", "1e999999999", "9" * 5000)
def test_what_is_no_number_is_answered_in_a_sentence(text):
    line = number_line_explorer(1.0)
    before = dict(line.view)
    send(line, {"do": "type", "text": text})
    assert line.view == before
    assert line.answer["message"].startswith("“")
    assert len(line.answer["message"]) < 90
    raises(ValueError, "“", parse_number, text)


def test_page_keys_walk_from_number_to_number():
    line = number_line_explorer(3.3, ["fp8_e4m3"])
    walked = []
    for _ in range(4):
        send(line, {"do": "neighbour", "way": 1})
        walked.append(line.x)
    assert walked == [3.5, 3.75, 4.0, 4.5]
    send(line, {"do": "neighbour", "way": -1})
    assert line.x == 4.0


def test_a_typed_number_comes_with_a_window_around_it():
    line = number_line_explorer(3.3)
    for text in ("0.1", "70000", "1e-7", "-257", "1e38", "0"):
        send(line, {"do": "type", "text": text})
        assert line.view["lo"] < line.x < line.view["hi"]
    send(line, {"do": "reset"})
    assert line.x == 3.3


def test_zooming_to_a_format_makes_its_numbers_stand_apart():
    line = number_line_explorer(3.3, ["fp8_e4m3", "fp16"])
    assert _row(line, "fp16")["can_zoom"]
    send(line, {"do": "closer", "format": "fp16"})
    row = _row(line, "fp16")
    assert not row["can_zoom"]
    pixel = (line.view["hi"] - line.view["lo"]) / line.view["width"]
    assert all(spacing > 8 * pixel for _, _, spacing, _ in row["pieces"])


def test_a_configured_format_can_be_shown():
    fmt = configure(4, 3, bias=11, infinities=False)
    assert _row(number_line_explorer(1.3, [fmt, "fp8_e4m3"]), fmt.name)["value"] == 1.25


def test_the_stored_notebook_has_a_fixed_repr():
    line = number_line_explorer(3.3)
    assert repr(line) == "NumberLine(x=3.3, formats=[fp8_e4m3, bf16, fp16])"


@for_rows("x", True, "x", float("nan"), float("inf"), 1e39, None)
def test_bad_x_is_refused(x):
    raises((TypeError, ValueError), "", number_line_explorer, x)
