"""Describe a value, and what was probably meant: the words that error messages share.

Every other module of this package can use it.  Values describe themselves (``_described``).  The
names that kernels know are in :data:`NAMES`, which ``language``, ``isa`` and ``collectives`` fill.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import numpy as np

from trainium_edu.names import near
from trainium_edu.nki.rows import read

__all__ = ["NAMES", "describe", "frame_where", "host_function", "is_ours", "is_whole",
           "kernel_frame", "no_such_attribute", "shortened"]  # fmt: skip

#: As kernels write them, names that they find: "nl." -> ("add", ...).
NAMES: dict[str, Sequence[str]] = {"nki.": ("jit", "run", "simulate")}
_INSTEAD = read("instead.toml")["attributes"]
#: Functions of NumPy that only look at numbers, as somebody does who debugs a kernel.
_LOOKS = {"allclose", "array2string", "array_equal", "array_repr", "array_str", "copyto", "isclose",
          "ndim", "save", "savetxt", "shape", "size"}  # fmt: skip
_HERE = str(Path(__file__).parents[1])
_EXAMPLES = str(Path(__file__).parent / "examples")


def shortened(text: str) -> str:
    """Return a text, cut short if it is too long for a message."""
    return text if len(text) <= 120 else f"{text[:100]} ..."


def describe(value) -> str:
    """Return a value as a message shows it: arrays by dtype and shape, the rest cut short."""
    if hasattr(type(value), "_described"):
        return value._described()
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        return f"a host array, {value.dtype}{list(value.shape)}"
    return shortened(repr(value))


def is_whole(value) -> bool:
    """Return whether a value is an integer, or converts to one; a bool is not."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def host_function(tensor, function, args, kwargs):
    """Call a NumPy function that looks at a tensor's numbers; refuse one that computes."""
    name = function.__name__
    if name in _LOOKS:
        args = [np.array(part) if isinstance(part, type(tensor)) else part for part in args]
        return function(*args, **kwargs)
    own = f"nl.{name} computes" if name in NAMES["nl."] else "nl has the chip's functions"
    raise TypeError(
        f"np.{name} would compute with {tensor!r} here, not on the chip: {own}, and "
        "np.array(tile) copies the numbers out to look at them"
    )


def no_such_attribute(tensor, name) -> AttributeError:
    """Return the error for an attribute that a tensor does not have."""
    text = f"a tensor has no attribute {name!r}"
    if name in _INSTEAD:
        text += f"; {_INSTEAD[name]}"
    elif name in NAMES["nl."]:
        text += f"; functions compute: nl.{name}(tile, ...)"
    else:
        text += near(name, [n for n in dir(type(tensor)) if n[0] != "_"], "t.")
    return AttributeError(text, name=name, obj=None)


def frame_where(test, frame: FrameType | None = None) -> FrameType | None:
    """Return the innermost frame, from one on, whose code passes a test, or None."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None and not test(frame.f_code):
        frame = frame.f_back
    return frame


def kernel_frame() -> FrameType | None:
    """Return the innermost frame outside this package, or None."""
    return frame_where(lambda code: not is_ours(code.co_filename))


def is_ours(file: str) -> bool:
    """Return whether a file belongs to this package, whose example kernels count as a user's."""
    return file.startswith(_HERE) and not file.startswith(_EXAMPLES)
