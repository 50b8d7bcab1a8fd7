"""Lesson 01's questions and its first task.

Judges: ml_dtypes' casts and codes, and counting them.
"""

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu.exercises import predict
from trainium_edu.training.samples import sample
from trainium_edu.widgets.bit_editor import bit_editor

BOOK = Path(__file__).parents[2] / "notebooks" / "01_number_formats.ipynb"
CAST = {"BF16": ml_dtypes.bfloat16, "FP16": np.float16, "FP8 E5M2": ml_dtypes.float8_e5m2,
        "FP8 E4M3": ml_dtypes.float8_e4m3, "FP8 E3M4": ml_dtypes.float8_e3m4}  # fmt: skip
HALVES = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)  # every BF16 number
BYTES = np.arange(256, dtype=np.uint8)


@pytest.fixture
def found(asked):
    return asked("01")


def said_by(question, **values):
    return question.bind(**values).wrong


def arrays():
    return {name: sample(name) for name in ("weights", "gradients", "activations")}


def test_every_wrong_model_says_something_of_its_own(found):
    values = {
        "01/bf16-1024": {"fmt": "bf16", "low": 1024, "high": 2048},
        "01/257-in-bf16": {"x": 257.0},
        "01/gradients-lost": {"x": sample("gradients")},
        "01/e4m3-finite": {"exponent_bits": 4, "mantissa_bits": 3},
        "01/weights-8-bit": {"x": sample("weights")},
        "01/compressed": {"arrays": arrays()},
    }
    assert list(values) == list(found)
    for key, q in found.items():
        answers = [*said_by(q, **values[key]).values(), q.function(**values[key]).value]
        assert len(set(answers)) == len(answers), key
        if q.kind == "choice":
            assert set(answers) == set(q.options)


@pytest.mark.parametrize(("low", "high"), [(1024, 2048), (1, 2), (0.25, 0.5)])
def test_numbers_between_powers_of_two_are_counted(found, low, high):
    counted = int(((low <= HALVES) & (high > HALVES)).sum())
    assert found["01/bf16-1024"].function("bf16", low, high).value == counted


def test_a_guess_is_told_how_far_apart_its_numbers_would_stand(found):
    answer = found["01/bf16-1024"].function("bf16", 1024, 2048)
    assert answer.show(256).endswith("your 256 would stand 4 apart")
    assert "your" not in answer.show(None) + answer.show(128)


def test_what_becomes_of_257(found):
    q = found["01/257-in-bf16"]
    assert q.function(257.0).value == f"{float(ml_dtypes.bfloat16(257)):g}"
    said = said_by(q, x=257.0)
    assert said["whole numbers are exact"] == f"{float(np.float16(257)):g}"
    assert np.isinf(ml_dtypes.float8_e4m3(257))
    assert said["FP8's range"] == "infinity"


def test_the_formats_in_the_order_of_what_they_lose(found):
    q, x = found["01/gradients-lost"], sample("gradients")
    lost = {n: int(((x != 0) & (x.astype(CAST[n]).astype(float) == 0)).sum()) for n in q.options}
    assert len(set(lost.values())) == 4
    assert list(q.function(x).value) == sorted(lost, key=lost.get, reverse=True)


@pytest.mark.parametrize(
    ("e", "m", "name"), [(4, 3, "FP8 E4M3"), (3, 4, "FP8 E3M4"), (5, 2, "FP8 E5M2")]
)
def test_finite_numbers_are_counted(found, e, m, name):
    values = BYTES.view(CAST[name]).astype(float)
    counted = len(set(values[np.isfinite(values)].tolist()))
    assert found["01/e4m3-finite"].function(e, m).value == counted


def test_the_other_e4m3_and_more_numbers_than_codes(found):
    values = BYTES.view(ml_dtypes.float8_e4m3fn).astype(float)
    said = said_by(found["01/e4m3-finite"], exponent_bits=4, mantissa_bits=3)
    assert said["no infinities"] == len(set(values[np.isfinite(values)].tolist()))
    raises(ValueError, "there are only 256", predict.ask("01/e4m3-finite").commit, "257")


def test_the_best_format_for_the_weights_and_the_guess_shown(found):
    q, x = found["01/weights-8-bit"], sample("weights")
    kept = {n: x.astype(CAST[n]).astype(float) for n in q.options if n in CAST}
    kept["INT8"] = np.clip(np.rint(x), -128, 127)
    noise = {n: float(((kept[n] - x) ** 2).sum()) for n in q.options}
    answer = q.function(x)
    assert answer.value == min(noise, key=noise.get)
    assert answer.show("INT8")[0].values["format"] == "int8"
    assert answer.show(None)[0].values["format"] == "fp8_e3m4"


def test_a_compressed_weight_is_a_little_above_its_entropy_and_the_rest_is_said(found):
    """Judges: ml_dtypes' codes and Shannon's bound; zeros counted; what is assumed is called so."""
    q, x = found["01/compressed"], arrays()
    field = x["weights"].astype(ml_dtypes.bfloat16).view(np.uint16).ravel() >> 7 & 255
    share = np.bincount(field) / field.size
    share = share[share > 0]
    bound = 8 - (share * np.log2(share)).sum()
    here = q.bind(arrays=x)
    assert bound < here.answer.value < bound + 0.3
    assert said_by(q, arrays=x)["all alike"] == 8 + np.log2(share.size)
    assert f"{share.size} of 256 exponents" in here.explain
    picture, prose, numbers = here.show(None)
    table = str(numbers)
    assert "assumed" in table
    assert "assumed" in repr(picture)
    for row in ("Assumed: GB/s", ">272<", f">{table.splitlines()[2].split()[-1]}<"):
        assert row in numbers.svg
    assert "is assumed" in str(prose)
    for name in ("gradients", "activations"):
        assert f"{100 * (x[name] == 0).mean():.0f} % of the {name}" in str(prose)
    bits = {line.split()[0]: line.split()[-3:] for line in table.splitlines()[2:]}
    assert float(bits["random"][0]) > 16
    assert float(bits["activations"][1]) < float(bits["activations"][0])  # bzip2: "needs less"
    assert "bzip2 needs less" in str(prose)


def test_the_first_task_is_one_click_each():
    """Each number named is one flipped bit away from 13, and there is no other claim."""
    text = "".join(json.loads(BOOK.read_text(encoding="utf-8"))["cells"][0]["source"])
    task = re.search(r"\*one click\* away from 13: (.*?)\. Which bits", text, re.S).group(1)
    wanted = [float(n.replace("−", "-")) for n in re.findall(r"\*\*([−\d.]+)\*\*", task)]
    assert len(wanted) == 4
    code = np.array(13, ml_dtypes.bfloat16).view(np.uint16)
    one_away = {float((code ^ np.uint16(1 << b)).view(ml_dtypes.bfloat16)) for b in range(16)}
    assert set(wanted) <= one_away
    editor = bit_editor(13.0, "bf16")
    reached = set()
    for place in range(16):
        editor.flip(place)
        reached.add(editor.value)
        editor.flip(place)
    assert set(wanted) <= reached
