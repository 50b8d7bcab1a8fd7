"""A header and plain arrays in one run of bytes: how frames travel to the page."""

import json
from collections.abc import Mapping

import numpy as np

__all__ = ["Numbered", "pack"]

_TYPES = {
    "u1": "u8", "u2": "u16", "u4": "u32", "i4": "i32", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


def pack(
    header: Mapping, arrays: Mapping[str, np.ndarray], *, prefix: int = 8, align: int = 8
) -> bytes:
    """Lay arrays behind a header in JSON.

    Parameters
    ----------
    header : dict of plain data
    arrays : dict of ndarray
    prefix : int, optional
        Bytes in which the header's length stands in front, little-endian.
    align : int, optional
        The header ends, and each array begins, at a multiple of this.

    Returns
    -------
    bytes
        ``header["arrays"]`` has type, offset (from the header's end) and count of each array.
    """
    blocks, table, offset = [], {}, 0
    for name, values in arrays.items():
        block = np.ascontiguousarray(values).tobytes()
        table[name] = [_TYPES[values.dtype.str[1:]], offset, int(values.size)]
        block += b"\0" * (-len(block) % align)
        blocks.append(block)
        offset += len(block)
    text = json.dumps({**header, "arrays": table}, separators=(",", ":")).encode()
    text += b" " * (-(prefix + len(text)) % align)
    return len(text).to_bytes(prefix, "little") + text + b"".join(blocks)


class Numbered(dict):
    """Numbers things in the order in which they are first asked for."""

    def __missing__(self, thing):
        self[thing] = len(self)
        return self[thing]
