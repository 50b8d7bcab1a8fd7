"""A header and plain arrays in one run of bytes: how frames travel to the page."""

import json
from collections.abc import Mapping

import numpy as np

__all__ = ["Numbered", "pack"]

#: As NumPy writes an array's type, and as the page does.
_TYPES = {t: f"{t[0]}{8 * int(t[1])}" for t in ("u1", "u2", "u4", "i4", "f2", "f4", "f8")}


def pack(header: Mapping, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Lay arrays behind a header in JSON.

    Parameters
    ----------
    header : dict of plain data
    arrays : dict of ndarray

    Returns
    -------
    bytes
        The header's length in four bytes, little-endian; the header; the arrays.  The header ends,
        and each array begins, at a multiple of eight; ``header["arrays"]`` has type, offset (from
        the header's end) and count of each array.  Counts travel in as few bytes as hold them.
    """
    blocks, table, offset = [], {}, 0
    for name, values in arrays.items():
        if values.dtype.kind == "i":
            counts = values.min(initial=0) >= 0
            values = values.astype(np.min_scalar_type(values.max(initial=0)) if counts else "i4")
        block = values.tobytes()
        table[name] = [_TYPES[values.dtype.str[1:]], offset, int(values.size)]
        block += b"\0" * (-len(block) % 8)
        blocks.append(block)
        offset += len(block)
    text = json.dumps({**header, "arrays": table}, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return len(text).to_bytes(4, "little") + text + b"".join(blocks)


class Numbered(dict):
    """Numbers things in the order in which they are first asked for."""

    def __missing__(self, thing):
        self[thing] = len(self)
        return self[thing]
