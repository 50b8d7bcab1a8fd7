"""BF16 without loss in fewer bits: the entropy of its fields, and a real coder that comes near it.

Numbers of a network differ in size by a few powers of two, so a few of the 256 exponents are used,
some of them often: a Huffman code gives those short words.  Signs and mantissas look like dice and
are sent as they are; a zero, which has neither, is a symbol of its own.

AWS's architecture page says that DMA has inline compression, and nothing else of it: this coder is
*ours*, no model of the chip's.  Left out: what neighbours have to do with each other.
Sources: `shannon-1948` for entropy and the bound, `huffman-1952` for the code.
"""

import bz2
import heapq
import struct
from dataclasses import dataclass
from itertools import count

import numpy as np

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.arguments import number
from trainium_edu.specs.signatures import checked

__all__ = ["Fields", "Sizes", "code_lengths", "compress", "effective_bytes_per_s", "entropy",
           "expand", "field_entropy", "measure"]  # fmt: skip

_ZERO = 256  #: the symbol of +0, after the 256 exponents
_HEAD, _ROW = struct.Struct("<IH"), struct.Struct("<HB")  # count, symbols; symbol, bits of its word


@dataclass(frozen=True, slots=True)
class Fields:
    """Bits per number that each field needs at least, if fields are coded one by one."""

    exponent: float  #: or that it is zero
    sign: float  #: of numbers that are not zero, as the mantissa
    mantissa: float

    @property
    def total(self) -> float:
        """The sum: no code that takes fields one by one needs fewer bits."""
        return self.exponent + self.sign + self.mantissa


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size that an array of BF16 numbers shrinks to, in bits per number."""

    fields: Fields  #: the bound
    bits: float  #: as :func:`compress` writes it, its table and all
    bzip2_bits: float  #: as Python's ``bz2`` does, which knows neighbours and nothing of fields


@checked
def entropy(symbols: np.ndarray) -> float:
    """Return Shannon's entropy of the counts of symbols in an array.

    Parameters
    ----------
    symbols : integer array
        Not empty.

    Returns
    -------
    bits : float
        -Σ p log2 p over the symbols' shares p.

    Examples
    --------
    >>> entropy(np.array([1, 1, 2, 3]))
    1.5
    """
    share = np.unique(_not_empty(symbols), return_counts=True)[1] / symbols.size
    return max(0.0, float(-(share * np.log2(share)).sum()))


@checked
def field_entropy(codes: np.ndarray) -> Fields:
    """Return how many bits the fields of BF16 numbers need at least.

    Parameters
    ----------
    codes : uint16 array
        As :func:`~trainium_edu.numerics.cast_to_bits` returns them for ``"bf16"``.

    Returns
    -------
    Fields

    Examples
    --------
    >>> from trainium_edu.numerics import cast_to_bits
    >>> field_entropy(cast_to_bits([1.0, -1.0, 1.5, -1.5], "bf16"))
    Fields(exponent=0.0, sign=1.0, mantissa=1.0)
    """
    symbols, rest = _split(codes)
    share = rest.size / symbols.size
    sign, mantissa = (share * entropy(a) if share else 0.0 for a in (rest >> 7, rest & 127))
    return Fields(entropy(symbols), sign, mantissa)


@checked
def code_lengths(symbols: np.ndarray) -> dict[int, int]:
    """Return how long a word Huffman's code gives each symbol, the most frequent the shortest.

    Parameters
    ----------
    symbols : integer array
        Not empty.

    Returns
    -------
    lengths : dict of int to int
        Bits; 0 for a symbol that is alone.

    Examples
    --------
    >>> code_lengths(np.array([7, 7, 7, 8, 9]))
    {7: 1, 8: 2, 9: 2}
    """
    found, times = np.unique(_not_empty(symbols), return_counts=True)
    lengths = dict.fromkeys(found.tolist(), 0)
    order = count()  # decides between equally frequent ones
    trees = [(n, next(order), [s]) for s, n in zip(lengths, times.tolist(), strict=True)]
    heapq.heapify(trees)
    while len(trees) > 1:  # the two rarest become one, and all in them a bit longer
        (a, _, left), (b, _, right) = heapq.heappop(trees), heapq.heappop(trees)
        for symbol in left + right:
            lengths[symbol] += 1
        heapq.heappush(trees, (a + b, next(order), left + right))
    return lengths


def _words(lengths) -> dict[int, int]:
    """Return each symbol's word: counted up, the shorter first, so that lengths say it all."""
    words, word, before = {}, 0, 0
    for symbol in sorted(lengths, key=lambda s: (lengths[s], s)):
        word <<= lengths[symbol] - before
        words[symbol], word, before = word, word + 1, lengths[symbol]
    return words


@checked
def compress(codes: np.ndarray) -> bytes:
    """Write BF16 numbers in fewer bytes, if their exponents allow it.

    Parameters
    ----------
    codes : uint16 array
        Not empty; its shape is not kept.

    Returns
    -------
    bytes
        How many, the lengths of words, a word for each number, then sign and mantissa of those
        that are not zero.

    Examples
    --------
    >>> len(compress(np.full(1000, 0x3F80, np.uint16)))  # 6 + 3 + 1000
    1009
    """
    symbols, mantissas = _split(codes)
    lengths = code_lengths(symbols)
    words, longest = _words(lengths), max(lengths.values())
    size, word = np.zeros(_ZERO + 1, np.int64), np.zeros(_ZERO + 1, np.int64)
    for symbol in lengths:
        size[symbol], word[symbol] = lengths[symbol], words[symbol]
    place = size[symbols][:, None] - 1 - np.arange(longest)  # of the bit in its word; below 0: none
    bits = word[symbols][:, None] >> np.maximum(place, 0) & 1
    head = _HEAD.pack(symbols.size, len(lengths))
    table = b"".join(_ROW.pack(*row) for row in lengths.items())
    sent = np.packbits(bits[place >= 0].astype(np.uint8)).tobytes()
    return head + table + sent + mantissas.astype(np.uint8).tobytes()


@checked
def expand(data: bytes) -> np.ndarray:
    """Return the numbers that :func:`compress` wrote, bit for bit.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    codes : uint16[n]

    Raises
    ------
    ValueError
        If `data` ends too soon, or goes on.

    Examples
    --------
    >>> expand(compress(np.array([0x4150, 0, 0x8000], np.uint16))).tolist()
    [16720, 0, 32768]
    """
    try:
        total, kinds = _HEAD.unpack_from(data)
        start = _HEAD.size + kinds * _ROW.size
        lengths = dict(_ROW.iter_unpack(data[_HEAD.size : start]))
        meant = {(lengths[s], word): s for s, word in _words(lengths).items()}
        bits, at = np.unpackbits(np.frombuffer(data, np.uint8, offset=start)).tolist(), 0
        symbols = np.empty(total, np.int64)
        for i in range(total):
            length = word = 0
            while (length, word) not in meant:
                word, length, at = 2 * word + bits[at], length + 1, at + 1
            symbols[i] = meant[length, word]
    except (struct.error, IndexError):
        raise ValueError(_DAMAGED) from None
    rest = np.frombuffer(data, np.uint8, offset=start - (-at // 8)).astype(np.uint16)
    if rest.size != np.count_nonzero(symbols != _ZERO):
        raise ValueError(_DAMAGED)
    codes = np.zeros(total, np.uint16)
    codes[symbols != _ZERO] = (rest >> 7 << 15) | (rest & 127)
    return codes | (symbols % _ZERO << 7).astype(np.uint16)


@checked
def measure(codes: np.ndarray) -> Sizes:
    """Compress BF16 numbers with this coder and with bzip2, beside their entropy.

    Parameters
    ----------
    codes : uint16 array

    Returns
    -------
    Sizes

    Examples
    --------
    >>> round(measure(np.full(1000, 0x3F80, np.uint16)).bits, 3)
    8.072
    """
    fields, eight = field_entropy(codes), 8 / codes.size
    peer = bz2.compress(codes.astype("<u2").tobytes())  # a format that no longer changes
    return Sizes(fields, eight * len(compress(codes)), eight * len(peer))


@checked
def effective_bytes_per_s(bits: float, spec: Record = TRN1) -> float:
    """Return at what rate one NeuronCore's DMA would bring BF16 numbers if compression kept up.

    *Assumed*, all of it: that the compressor is as good as the one that gave `bits`, and never
    slower than the wires.  The documented rate is divided by the share of bits that are sent.

    Parameters
    ----------
    bits : float
        Sent for each number of 16.
    spec : Record

    Returns
    -------
    float

    Examples
    --------
    >>> effective_bytes_per_s(8) / 1e9
    544.0
    """
    bits = number(bits, "bits", 0.001, 1e6)
    keeps_up = spec.dma_compression_keeps_up.value
    return float(spec.dma.bytes_per_s) * (16 / bits if keeps_up else 1.0)


_DAMAGED = "data is not what compress() wrote, or not all of it; keep and pass all of its bytes"


def _not_empty(symbols):
    if symbols.dtype.kind not in "iu" or symbols.size == 0:
        what = f"have dtype {symbols.dtype}" if symbols.size else "are empty"
        raise ValueError(
            f"symbols {what}; how often each stands is counted for one integer or more"
        )
    return symbols


def _split(codes):
    """Return a symbol for each code, its exponent or _ZERO; sign and mantissa of the others."""
    if codes.dtype != np.uint16 or codes.size == 0:
        what = f"have dtype {codes.dtype}" if codes.size else "are empty"
        raise ValueError(f"codes {what}; BF16 codes are uint16, one or more: cast_to_bits(x,"
                         ' "bf16") makes them')  # fmt: skip
    flat = codes.ravel().astype(np.int64)
    kept = flat[flat != 0]
    return np.where(flat == 0, _ZERO, flat >> 7 & 255), kept >> 15 << 7 | kept & 127
