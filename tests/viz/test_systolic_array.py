"""Pictures of the array: judged by the counts they were given."""

import pytest

from tests.for_each import for_rows
from trainium_edu.viz import systolic_array as picture


@for_rows("width", 320.0, 560.0, 890.0)
def test_reuse_marks_the_closed_forms(width):
    shares = picture.reuse_shares(16)
    scene = picture.draw_reuse(16, guess=128, width=width)
    texts = [shape[1:] for shape in scene.shapes if shape[0] == "text"]
    numbers = {text[2]: (text[0], text[1] - 4) for text in reversed(texts)}
    percent = (numbers["0"][1] - numbers["100"][1]) / 100
    marks = [(y + 4.5, x + 4.5) for kind, x, y, *_ in scene.shapes if kind == "rect"]
    assert sorted((numbers["0"][1] - y) / percent for y, _ in marks) == pytest.approx(
        sorted(100 * s for s in shares.values()), abs=0.1
    )
    assert [x for _, x in marks] == pytest.approx([numbers["16"][0]] * 4, abs=0.1)
    peak = 100 * (numbers["0"][1] - numbers["150"][1]) / percent / 100
    assert peak == pytest.approx(100 * 150 / 183.5, rel=2e-3)
    guess = next(shape for shape in scene.shapes if shape[0] == "area")
    assert guess[1][2] == pytest.approx(numbers["128"][0], abs=0.1)
    assert {"your guess", "N = 16"} <= set(numbers)
    assert "N = 16" in scene.alt


@for_rows("width", 320.0, 560.0, 890.0)
def test_no_words_cover_other_words_or_leave_the_picture(width):
    scene = picture.draw_reuse(64, guess=128, width=width)
    boxes = []
    for _, x, y, words, anchor, _, size, bold in (s for s in scene.shapes if s[0] == "text"):
        assert size >= 11
        wide = 0.53 * size * len(words) * (1.08 if bold else 1)
        left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        boxes.append((words, left, y - 0.75 * size, left + wide, y + 2))
    for i, (words, left, top, right, bottom) in enumerate(boxes):
        assert (left >= 0, right <= width, bottom <= scene.height) == (True,) * 3, words
        for other, *box in boxes[:i]:
            apart = left > box[2] or right < box[0] or top > box[3] or bottom < box[1]
            assert apart, (words, other)
