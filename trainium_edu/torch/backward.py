"""Errors in a backward pass end that pass, and not the process.

PyTorch's engine holds a guard of our device around each node.  The guard asks Python which device
it is for, also while a Python error (of a hook, of an operation) makes its way out; Python refuses
to return a result beside an error, the guard may not throw, and the process ends.  So the guard
takes the error away first, and it is raised where ``backward`` returns.
"""

import ctypes
import gc
import threading

import torch

__all__ = ["Guard", "mend_engine"]

_KIND = torch._C._autograd.DeviceType.PrivateUse1
_fetch = ctypes.pythonapi.PyErr_Fetch
_fetch.restype = None
_normalize = ctypes.pythonapi.PyErr_NormalizeException
_normalize.restype = None
_drop = ctypes.pythonapi.Py_DecRef
_drop.argtypes, _drop.restype = [ctypes.c_void_p], None


_parts = (ctypes.c_void_p * 3)()  # kind, value and traceback of what was fetched
_places = tuple(ctypes.byref(_parts, i * ctypes.sizeof(ctypes.c_void_p)) for i in range(3))
_taken: dict[int, BaseException] = {}  # thread -> the error that was on its way out


def _keep() -> None:
    """Make an exception of the three parts that were fetched."""
    _normalize(*_places)
    kind, value, trace = _parts
    assert value is not None  # it was made just now
    error = ctypes.cast(value, ctypes.py_object).value
    if trace:
        error.__traceback__ = ctypes.cast(trace, ctypes.py_object).value
    for part in (kind, value, trace):
        if part:
            _drop(part)
    _parts[:] = [None, None, None]
    _taken.setdefault(threading.get_ident(), error)


class Guard(torch._C._acc.DeviceGuard):
    """Tells the engine which device it guards."""

    __slots__ = ()

    def type_(self, *, fetch=_fetch, places=_places, parts=_parts, kind=_KIND):
        """Return the kind of device; also while an error is on its way.

        Nothing is looked up before the error is away: a search in vain would swallow it.
        """
        fetch(*places)
        if parts[0]:
            _keep()
        return kind


class _Engine:
    """PyTorch's engine, whose ``run_backward`` raises what the guard took."""

    def __init__(self, engine):
        self._engine = engine

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def run_backward(self, *args, **kwargs):
        """Run in this thread (our device has no other), and raise the first error."""
        if torch._C._is_multithreading_enabled():
            torch.autograd.set_multithreading_enabled(False)
        collects = gc.isenabled()
        gc.disable()  # a collection beside an error would swallow it
        try:
            return self._engine.run_backward(*args, **kwargs)
        except SystemError as empty:
            error = _taken.pop(threading.get_ident(), None)
            if error is None:
                raise
            raise error from empty.__cause__
        finally:
            _taken.pop(threading.get_ident(), None)
            if collects:
                gc.enable()


def mend_engine() -> None:
    """Let all backward passes go through the engine above."""
    variable = torch.autograd.Variable
    if not isinstance(variable._execution_engine, _Engine):
        variable._execution_engine = _Engine(variable._execution_engine)
