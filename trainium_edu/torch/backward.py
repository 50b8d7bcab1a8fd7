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
_taken: dict[int, BaseException] = {}  # thread -> the error that was on its way out


class Guard(torch._C._acc.DeviceGuard):
    """Tells the engine which device it guards."""

    __slots__ = ()

    def type_(self, *, look=ctypes.pythonapi.PyErr_Occurred, kind=_KIND):
        """Return the kind of device; also while an error is on its way.

        After a call into ``ctypes.pythonapi`` an error that is on its way is raised here.  Nothing
        is looked up before: a search in vain would swallow it.
        """
        try:
            look()
        except BaseException as error:
            trace = error.__traceback__
            error.__traceback__ = trace and trace.tb_next  # without this function
            _taken.setdefault(threading.get_ident(), error)
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
    """Run all backward passes through the engine above.

    PyTorch starts a thread for each device in the first backward pass of a process, after which no
    process forked from it can go backward.  So the first one is here, before there is a device.
    """
    if not torch.accelerator.is_available():  # another one, which would have a thread
        torch.zeros((), requires_grad=True).backward()
    variable = torch.autograd.Variable
    if not isinstance(variable._execution_engine, _Engine):
        variable._execution_engine = _Engine(variable._execution_engine)
