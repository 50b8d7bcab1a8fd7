"""Set a trait, read the state, no browser.  Judges: struct, NumPy and ml_dtypes views of bits."""

import json
import struct

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from tests.widgets.page import send
from trainium_edu.numerics import FORMATS, configure, from_bits
from trainium_edu.numerics.anatomy import landmarks
from trainium_edu.widgets.bit_editor import bit_editor


def _ask(editor, **content):
    send(editor, content)


def test_flipping_bits_gives_what_struct_reads():
    editor = bit_editor(13.0, "fp32")
    for bit in (0, 22, 23, 30, 31, 5):
        before = editor.code
        _ask(editor, do="flip", bit=bit)
        assert editor.code == before ^ (1 << bit)
        judge = struct.unpack("<f", struct.pack("<I", editor.code))[0]
        assert editor.value == judge or (np.isnan(editor.value) and np.isnan(judge))


def test_what_other_formats_make_of_it_is_what_ml_dtypes_makes():
    rows = {row["format"]: row for row in bit_editor(0.1, "bf16").answer["others"]}
    value = np.float32(np.float32(0.1).astype(ml_dtypes.bfloat16))
    for name in ("fp8_e4m3", "fp8_e5m2", "fp8_e3m4"):
        judge = value.astype(FORMATS[name].dtype)
        assert int(rows[name]["hex"], 16) == int(judge.view(np.uint8))
    assert int(rows["fp16"]["hex"], 16) == int(np.float16(value).view(np.uint16))
    assert (rows["fp32"]["outcome"], rows["int8"]["outcome"]) == ("exact", "vanished")


@for_each("name", list(FORMATS))
def test_every_landmark_can_be_shown_and_is_strict_json(name):
    editor = bit_editor(1.0, name)
    for landmark, code in landmarks(name).items():
        _ask(editor, do="landmark", name=landmark)
        assert editor.code == code
        json.dumps([editor.answer, editor.state], allow_nan=False)
        page = editor.answer
        assert (
            "".join(place["bit"] for place in page["places"]) == f"{code:0{len(page['places'])}b}"
        )
        here = page["range"]["here"]
        assert here is None or 0 <= here <= 1


def test_a_number_that_grows_moves_right_on_its_line():
    editor = bit_editor(1.0, "fp8_e4m3")
    places = []
    for value in (-240.0, -1.0, -0.015625, 0.0, 0.001953125, 0.015625, 1.0, 240.0):
        _ask(editor, do="type", text=str(value))
        assert editor.value == value
        places.append(editor.answer["range"]["here"])
    assert places == sorted(places)
    assert places[3] == 0.5


def test_steps_go_through_zero_and_stop_at_nan():
    editor = bit_editor(0.0, "fp8_e5m2")
    _ask(editor, do="step", way=-1)
    assert editor.value == -(2.0**-16)
    _ask(editor, do="step", way=1)
    _ask(editor, do="step", way=1)
    assert editor.value == 2.0**-16
    _ask(editor, do="landmark", name="NaN")
    nan = editor.code
    _ask(editor, do="step", way=1)
    assert editor.code == nan
    assert not editor.answer["above_text"]


def test_another_format_keeps_the_value_as_far_as_it_can():
    editor = bit_editor(3.3, "fp32")
    _ask(editor, do="format", format="fp8_e4m3")
    assert editor.value == 3.25
    _ask(editor, do="landmark", name="NaN")
    _ask(editor, do="format", format="int8")
    assert editor.value == 0


@for_rows(
    "state", {"format": "fp12", "code": 1}, {"format": "fp8_e4m3", "code": 256},
    {"format": "bf16", "code": -1}, {"format": "bf16", "code": True},
    {"format": "bf16", "code": 1.5}, {"format": "bf16"}, {},
)  # fmt: skip
def test_impossible_states_and_requests_change_nothing(state):
    editor = bit_editor()
    editor.state = state
    for content in ({}, {"do": "flip", "bit": 16}, {"do": "flip", "bit": "1"},
                    {"do": "format", "format": "x"}, {"do": "landmark", "name": "x"}):  # fmt: skip
        _ask(editor, **content)
    assert editor.state == {"format": "bf16", "code": 0x4150}


def test_bad_text_is_answered_in_a_sentence():
    editor = bit_editor()
    _ask(editor, do="type", text="thirteen")
    assert "not a number" in editor.answer["message"]
    _ask(editor, do="type", text="14")
    assert (editor.answer["message"], editor.value) == ("", 14)


@for_rows("x", True, "x", None, float("nan"))
def test_bad_x_is_refused(x):
    raises((TypeError, ValueError), "", bit_editor, x)
    raises(ValueError, "from 0 to 15; the rightmost", bit_editor().flip, 16)


def test_configured_formats_and_the_fixed_repr():
    fmt = configure(4, 3, bias=11, infinities=False, name="mine")
    editor = bit_editor(1.3, fmt)
    assert editor.value == float(from_bits(editor.code, fmt)) == 1.25
    assert repr(bit_editor()) == "BitEditor(bf16, 0x4150 = 13)"
