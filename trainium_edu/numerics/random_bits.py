"""Random bits that can be replayed: Philox4x32-10, a counter-based generator.

The bits depend on three numbers alone, (seed, step, element): there is no hidden state, so the same
seed gives the same bits in any chunking, order or number of threads.  The seed is the key; the
counter holds a block number and the step.  One block of four 32-bit words serves eight elements
with 16 bits each, or four elements with up to 31.  Sixteen blocks make a tile, in which the words
are laid out as vector registers like them: word 0 of all sixteen, then word 1, ...::

    n_random_bits <= 16     element 128 t + 32 w + 2 b + h:   half h of word w of block 16 t + b
    n_random_bits >  16     element  64 t + 16 w +   b    :            word w of block 16 t + b

(t tile, w word 0 to 3, b block 0 to 15, h 0 for the lower half and 1 for the upper), and of a
half-word or word the upper ``n_random_bits`` bits are used.

How the hardware draws its random bits, and how many it uses, is not published (of the Vector
Engine's random numbers AWS says that a linear-feedback shift register made them before
NeuronCore-v4); a counter-based generator is our choice because its bits can be checked.
"""

import numpy as np

from trainium_edu.numerics import _loops
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.arguments import short, whole

__all__ = ["MAX_RANDOM_BITS", "draw_bits", "philox4x32"]

MAX_ROUNDS = 1000  # far beyond any use
MAX_RANDOM_BITS = 31  #: random bits and the bits they are added to share one 32-bit lane
ROWS_PER_CALL = 2**16  # some 10 ms, then back to Python, so that Ctrl-C works
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)


def philox4x32(counter, key, *, rounds: int = 10):
    """Encrypt counters: the generator itself, written for reading.

    Parameters
    ----------
    counter : uint32[..., 4]
    key : uint32[..., 2]
    rounds : int, optional
        10 is the standard number; fewer shows how the mixing grows; 0 to 1000.

    Returns
    -------
    uint32[..., 4]

    Raises
    ------
    TypeError, ValueError
        For words that are not 32-bit integers, too few of them, or `rounds` out of range.

    Examples
    --------
    >>> [hex(int(w)) for w in philox4x32([0, 0, 0, 0], [0, 0])]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']

    References
    ----------
    `salmon-2011` in :data:`trainium_edu.specs.SOURCES`.
    """
    rounds = whole(rounds, "rounds", 0, MAX_ROUNDS)
    w0, w1, w2, w3 = np.moveaxis(_words(counter, "counter", 4), -1, 0)
    k0, k1 = np.moveaxis(_words(key, "key", 2), -1, 0)
    try:
        np.broadcast_shapes(w0.shape, k0.shape)
    except ValueError:
        raise ValueError(
            f"counters of shape {w0.shape} and keys of shape {k0.shape} do not go together"
        ) from None
    low = np.uint64(0xFFFFFFFF)
    with np.errstate(over="ignore"):
        for _ in range(rounds):
            p0 = _MULTIPLIERS[0] * w0.astype(np.uint64)
            p1 = _MULTIPLIERS[1] * w2.astype(np.uint64)
            w0, w1 = (p1 >> 32).astype(np.uint32) ^ w1 ^ k0, (p1 & low).astype(np.uint32)
            w2, w3 = (p0 >> 32).astype(np.uint32) ^ w3 ^ k1, (p0 & low).astype(np.uint32)
            k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
    return np.stack(np.broadcast_arrays(w0, w1, w2, w3), axis=-1)


def draw_bits(n: int, *, seed: int = 0, step: int = 0, offset: int = 0, n_random_bits: int = 16):
    """Return the random bits of elements ``offset`` to ``offset + n``.

    Parameters
    ----------
    n : int
        As many as free memory holds.
    seed, step : int
        From 0 to 2**64 - 1.
    offset : int
        Number of the first element, from 0; ``offset + n`` is at most 2**64.
    n_random_bits : int
        1 to 31.

    Returns
    -------
    uint16[n], or uint32[n] if ``n_random_bits > 16``
        Each below ``2**n_random_bits``.

    Examples
    --------
    >>> whole = draw_bits(10, seed=7)
    >>> bool((draw_bits(4, seed=7, offset=6) == whole[6:]).all())
    True
    """
    n_random_bits = check_n_random_bits(n_random_bits)
    offset = check_count(offset, "offset")
    if offset + check_count(n, "n") > 2**64:
        raise ValueError(f"offset {offset} and {n} elements pass 2**64, where counting ends")
    words = raw_bits(
        _check_room(n), check_count(seed, "seed"), check_count(step, "step"),
        offset, n_random_bits,
    )  # fmt: skip
    return words >> words.dtype.type(words.itemsize * 8 - n_random_bits)


def raw_bits(n, seed, step, offset, n_random_bits):
    """Return the half-words or words that hold the random bits, in their uppermost bits."""
    dtype, per_tile = (
        (np.uint16, _loops.TILE) if n_random_bits <= 16 else (np.uint32, _loops.TILE // 2)
    )
    first, skip = divmod(offset, per_tile)
    out = np.empty((-(-(skip + n) // (2 * per_tile)), _loops.DRAW // 2), np.uint32)
    for row in range(0, len(out), ROWS_PER_CALL):  # two tiles each
        launch(_loops.philox_tiles, np.uint64(first + 2 * row), np.uint64(seed), np.uint64(step),
               out[row : row + ROWS_PER_CALL])  # fmt: skip
    return out.reshape(-1).view(dtype)[skip : skip + n]


def check_count(value, what: str) -> int:
    """Return a seed, step or element number; raise unless it is from 0 to 2**64 - 1."""
    return whole(value, what, 0, 2**64 - 1)


def _check_room(n) -> int:
    """Return n, the number of elements; raise if free memory does not hold their bits."""
    if n * 8 > 2**28:  # the words that are drawn, and the bits cut from them
        import psutil

        free_bytes = psutil.virtual_memory().available
        if n * 8 > free_bytes:
            raise MemoryError(
                f"random bits for {n} elements take {n * 8 / 2**30:.1f} GiB and "
                f"{free_bytes / 2**30:.1f} GiB are free; draw them in pieces, with offset="
            )
    return int(n)


def _words(words, label: str, last: int):
    """Return words as uint32[..., last], or raise what is wrong with them."""
    try:
        array = np.asarray(words)
    except (ValueError, TypeError, OverflowError):
        array = np.empty(0, object)
    if array.dtype.kind not in "iu" or isinstance(words, np.ma.MaskedArray):
        raise TypeError(f"{label} is {short(words)}; it must hold words from 0 to 2**32 - 1")
    if array.ndim == 0 or array.shape[-1] != last:
        raise ValueError(f"{label} has shape {array.shape}; its last axis holds {last} words")
    if array.size and (array.min() < 0 or array.max() >= 2**32):
        raise ValueError(f"{label} is {short(words)}; it must hold words from 0 to 2**32 - 1")
    return array.astype(np.uint32)


def check_n_random_bits(n_random_bits) -> int:
    """Return the number of random bits; raise unless it is from 1 to 31."""
    return whole(n_random_bits, "n_random_bits", 1, MAX_RANDOM_BITS,
                 why=" (they are added to the dropped bits in 32 bits)")  # fmt: skip
