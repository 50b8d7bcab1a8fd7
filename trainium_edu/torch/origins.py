"""Where a call comes from: the script's line, and the module that made it.

A call in a backward pass comes from ``loss.backward()``; the line that a reader looks for is the
forward one.  PyTorch numbers what it will differentiate, and the node that runs in backward has the
number of its forward call.  Only calls that come for the first time are looked at.
"""

import sys
from types import FrameType
from weakref import WeakKeyDictionary

import torch

from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.torch.script import is_library

__all__ = ["Origins", "user_line"]

_CALLS = torch.nn.Module._call_impl.__code__
_names: WeakKeyDictionary[torch.nn.Module, dict[int, str]] = WeakKeyDictionary()


def user_line(frame: FrameType | None = None) -> SourceLine | None:
    """Return the innermost line of a script: of no library, and not of this package."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            return SourceLine(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


class Origins:
    """Lines and modules of forward calls, by the numbers of their nodes."""

    def __init__(self):
        self._forward: dict[int, tuple[SourceLine | None, str]] = {}

    def find(self) -> tuple[SourceLine | None, str]:
        """Return line and module of the call being recorded."""
        node = torch._C._current_autograd_node()
        if node is not None:
            known = self._forward.get(node._sequence_nr())
            if known is not None:
                return known
        found = user_line(), _module(sys._getframe(1))
        if node is None:
            self._forward[torch._C._autograd._get_sequence_nr() - 1] = found
        return found

    def forget(self) -> None:
        """Forget the calls of a step that is over."""
        self._forward.clear()


def _module(frame: FrameType | None) -> str:
    """Return the path of the innermost module whose call runs, from the outermost one."""
    running = []
    while frame is not None:
        if frame.f_code is _CALLS:
            running.append(frame.f_locals["self"])
        frame = frame.f_back
    if not running:
        return ""
    inner, outer = running[0], running[-1]
    names = _names.get(outer)
    if names is None or id(inner) not in names:
        names = _names[outer] = {id(one): name for name, one in outer.named_modules()}
    return names.get(id(inner), "")
