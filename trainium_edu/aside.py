"""Load, compile and set up where Ctrl-C finds nothing half made.

Python delivers an interrupt to the main thread, at any line.  Numba, scikit-learn or networkx,
interrupted while they are imported, cannot be imported again in that session.  So what is loaded
late is loaded in a thread of its own: an interrupt ends the waiting for it, it goes on, and the
next call that needs it finds it whole.
"""

import _imp
import importlib
import os
import sys
import threading
from types import FrameType, ModuleType

__all__ = ["HAS_THREADS", "aside", "load"]

HAS_THREADS = sys.platform != "emscripten"  #: a browser's Python has none
LONG_S = 1.0
LOOK_EVERY_S = 0.1  # from then on, as long as the call takes


#: What an interrupt left running is done before anything else is loaded, which may need it whole.
_turn = threading.Lock()
_here = threading.local()


def _after_fork():
    """Let a child begin anew: what its parent was loading no thread of the child's will end."""
    global _turn
    _turn = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def aside(function, *args, meanwhile=None):
    """Call a function in a thread of its own: Ctrl-C ends the waiting for it, never the call.

    Parameters
    ----------
    function : callable
        It loads, compiles or sets up something for the whole session, which must not end half-way
        and does no harm when nobody waits for it any more.
    *args
        Its arguments.
    meanwhile : callable, optional
        Called again and again while the function takes long, until it returns True.

    Returns
    -------
    What the function returns; what it raises is raised here.

    Examples
    --------
    >>> aside(divmod, 7, 2)
    (3, 1)
    """
    if getattr(_here, "is_aside", False) or not HAS_THREADS:
        return function(*args)
    answer, is_running = [None, None], threading.Lock()
    is_running.acquire()

    def call():
        _here.is_aside = True
        try:
            with _turn:
                answer[0] = function(*args)
        except BaseException as problem:
            answer[1] = problem
        finally:
            is_running.release()

    _release_import_lock()
    threading.Thread(target=call, name="trainium_edu loads or compiles").start()
    pause = LONG_S
    while not is_running.acquire(timeout=pause):
        pause = LOOK_EVERY_S
        if meanwhile is not None and meanwhile():
            meanwhile = None
    if answer[1] is not None:
        raise answer[1]
    return answer[0]


def load(name: str) -> ModuleType:
    """Import a module by its full name, aside unless it is there.

    Inside another import it is imported in place: that one may hold locks that this one needs.
    """
    if (name in sys.modules and not _turn.locked()) or _is_importing():
        return importlib.import_module(name)
    return aside(importlib.import_module, name)


def _is_importing() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _release_import_lock():
    """Undo what an interrupt inside an ``import`` can leave: all other threads' imports wait."""
    while _imp.lock_held():
        try:
            _imp.release_lock()
        except RuntimeError:  # another thread imports just now
            return
