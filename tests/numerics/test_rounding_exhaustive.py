"""All 2^32 words of FP32 to nearest, bit for bit.  Judges: ml_dtypes (BF16, FP8s), NumPy (FP16).

NumPy's cast to FP16 takes 40 times as long where every number overflows or vanishes.  There the
judge is the definition: from 2^16 on infinity, below 2^-25 zero, both with the number's sign.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from trainium_edu.numerics import FORMATS, cast

CHUNK = 1 << 18  # everything about a chunk stays in the processor's cache
SIGN = 1 << 31
NAMES = ["bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4"]


def mistakes(first_word, fmt):
    """Words in one chunk, or in the one of their negatives, on which we and the judge differ.

    The judge rounds the chunk; of its negatives it says the same with the other sign.  NaNs may
    differ in their payload.
    """
    words = np.uint32(first_word) + np.arange(CHUNK, dtype=np.uint32)
    sign = fmt.bits_dtype.type(fmt.sign_mask)
    judge = beyond_fp16(first_word) if fmt is FORMATS["fp16"] else None
    if judge is None:
        judge = by_judge(words, fmt)
    judge = judge.view(fmt.bits_dtype)
    found = []
    for flipped, wanted in ((0, judge), (SIGN, judge ^ sign)):
        given = words ^ np.uint32(flipped)
        ours = cast(given.view(np.float32), fmt).view(fmt.bits_dtype)
        if np.array_equal(ours, wanted):
            continue
        differ = np.flatnonzero(ours != wanted)
        both_nan = np.isnan(ours[differ].view(fmt.dtype).astype(np.float32)) & np.isnan(
            wanted[differ].view(fmt.dtype).astype(np.float32)
        )
        same_sign = (ours[differ] ^ wanted[differ]) & sign == 0
        found += given[differ[~(both_nan & same_sign)]].tolist()
    return found


def by_judge(words, fmt):
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return words.view(np.float32).astype(fmt.dtype)


def beyond_fp16(first_word):
    """The FP16 numbers of a chunk whose numbers are all too large or all too small, or None."""
    power = (first_word >> 23 & 0xFF) - 127  # the same for all of a chunk
    sign = np.uint16(first_word >> 31 << 15)
    if 16 <= power <= 127:
        return np.full(CHUNK, sign | np.uint16(0x7C00)).view(np.float16)
    if power < -25:
        return np.full(CHUNK, sign).view(np.float16)
    return None


def test_beyond_fp16_numpy_says_the_same():
    for word in (0x47800000, 0x7F7FFFFF, 0xC7800000, 0x32FFFFFF, 0x00000001, 0x80000000):
        judge = beyond_fp16(word)[0]
        with np.errstate(over="ignore", under="ignore"):
            numpys = np.uint32(word).view(np.float32).astype(np.float16)
        assert judge.tobytes() == numpys.tobytes()
    assert beyond_fp16(0x477FFFFF) is None
    assert beyond_fp16(0x33000000) is None


@pytest.mark.parametrize("name", NAMES)
def test_the_judge_gives_a_number_and_its_negative_the_same_but_for_the_sign(name, stratified):
    """So that asking it about the positive half of all words is enough."""
    fmt = FORMATS[name]
    words = stratified.view(np.uint32)
    one, other = (by_judge(w, fmt).view(fmt.bits_dtype) for w in (words, words ^ np.uint32(SIGN)))
    assert np.array_equal(one ^ other, np.full(words.shape, fmt.sign_mask, fmt.bits_dtype))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
def test_every_word_of_fp32_rounds_as_the_judge_rounds_it(name):
    fmt = FORMATS[name]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda first: mistakes(first, fmt), range(0, SIGN, CHUNK))
        wrong = [word for chunk in found for word in chunk]
    assert [hex(w) for w in wrong[:5]] == []


def test_the_judge_can_find_a_mistake(monkeypatch):
    """The comparison itself is tried with a cast that cuts instead of rounding."""
    right = cast
    monkeypatch.setitem(globals(), "CHUNK", 1 << 12)
    assert mistakes(0x3F800000, FORMATS["bf16"]) == []
    monkeypatch.setitem(globals(), "cast", lambda x, fmt: right(x, fmt, "toward_zero"))
    assert mistakes(0x3F808001 - (1 << 12), FORMATS["bf16"]) == []
    wrong = list(range(0x3F808001, 0x3F809001))
    assert mistakes(0x3F808001, FORMATS["bf16"]) == wrong + [word | SIGN for word in wrong]
