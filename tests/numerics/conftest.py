"""Numbers that find mistakes: every exponent, both signs, every kind of remainder."""

import os

import gfloat
import numpy as np
import pytest

from trainium_edu.numerics.formats import FORMATS, TF32, Format, Specials, configure

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"


@pytest.fixture(scope="session")
def stratified():
    """FP32 numbers from every binade, near ties of every format, with all special words."""
    rng = np.random.default_rng(0)
    per_binade = 2 if INTERPRETED else 1500
    fields = np.repeat(np.arange(512, dtype=np.uint32), per_binade) << np.uint32(23)
    anywhere = fields | rng.integers(0, 1 << 23, fields.size, dtype=np.uint32)
    kept = rng.integers(0, 24, fields.size).astype(np.uint32)  # a tie after `kept` bits, +-1 or 0
    tie = (rng.integers(0, 1 << 23, fields.size, dtype=np.uint32) >> kept << kept) | (
        (np.uint32(1) << kept) >> np.uint32(1)
    )
    nudge = rng.integers(-1, 2, fields.size)
    near = fields | ((tie.astype(np.int64) + nudge) & 0x7FFFFF).astype(np.uint32)
    special = np.uint32(
        [0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    )
    words = np.concatenate([anywhere, near, special, special | np.uint32(1 << 31)])
    return words.view(np.float32)


#: Splits that no dtype stores, so that gfloat has to judge them.
UNSTORED = [
    TF32, configure(4, 3), configure(4, 3, bias=11), configure(5, 2, infinities=False),
    configure(2, 5, infinities=False, nan=False), configure(3, 4, bias=-5, infinities=False),
    configure(4, 4, sign_bits=0, infinities=False), configure(6, 9), configure(5, 21),
    configure(8, 15), configure(8, 23), configure(7, 23, infinities=False), configure(8, 0),
    configure(7, 0, infinities=False),
]  # fmt: skip


@pytest.fixture(params=UNSTORED, ids=str)
def unstored(request):
    return request.param


@pytest.fixture(
    params=[*(f for f in FORMATS.values() if f.is_stored_narrow and not f.is_integer), *UNSTORED],
    ids=str,
)
def judged(request):
    """Formats that ml_dtypes and NumPy have, and splits that no dtype stores."""
    return request.param


@pytest.fixture(scope="session")
def as_gfloat():
    return _as_gfloat


def _as_gfloat(fmt: Format) -> gfloat.FormatInfo:
    """The same format in the judge's words."""
    high_nans = {
        Specials.IEEE: (1 << fmt.mantissa_bits) - 1,
        Specials.NAN_ONLY: 1,
        Specials.NONE: 0,
    }[fmt.specials]
    return gfloat.FormatInfo(
        name=fmt.name, k=fmt.bits, precision=fmt.mantissa_bits + 1, bias=fmt.bias,
        is_signed=bool(fmt.sign_bits),
        domain=gfloat.Domain.Extended if fmt.has_infinities else gfloat.Domain.Finite,
        has_nz=bool(fmt.sign_bits), num_high_nans=high_nans, has_subnormals=True,
        is_twos_complement=False,
    )  # fmt: skip
