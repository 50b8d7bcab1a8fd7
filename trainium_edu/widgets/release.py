"""Release a cell's widget when the cell runs again: the page no longer shows it.

ipywidgets keeps every widget until the kernel ends, and IPython every result in ``Out``.  Here both
let go of the one that a cell showed before; who kept it in a variable keeps it, and whole.
"""

import gc
import weakref

import ipywidgets
from IPython import get_ipython
from ipywidgets.widgets.widget import _instances

__all__ = ["release_on_rerun"]

_shown: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # {cell id: what it shows}


def release_on_rerun() -> None:
    """Watch the cells of this session, if it has any."""
    if shell := get_ipython():
        shell.events.register("post_run_cell", lambda result: _after(shell, result))


def _after(shell, result) -> None:
    cell, now = result.info.cell_id, result.result
    before = _shown.pop(cell, None)
    if isinstance(now, ipywidgets.Widget) and cell is not None:
        _shown[cell] = now
    if before is None or any(before is widget for widget in _shown.values()):
        return
    spaces = (shell.user_ns["_oh"], shell.user_ns, shell.user_ns_hidden, vars(shell.displayhook))
    for names in spaces:
        for name in [name for name, value in names.items() if value is before]:
            if not isinstance(name, str) or name.startswith("_"):  # no variable of the learner's
                names[name] = None
    _loosen(before)
    del before
    gc.collect()  # widgets and their parts refer to each other; each closes as it goes


def _loosen(value) -> None:
    """Let only the program's own references hold a widget and its parts."""
    if isinstance(value, list | tuple):
        for part in value:
            _loosen(part)
    elif isinstance(value, ipywidgets.Widget) and value.comm and _instances.pop(value.model_id, 0):
        handle = weakref.WeakMethod(value._handle_msg)
        value.comm.on_msg(lambda message: (to := handle()) and to(message))
        for part in value.trait_values(sync=True).values():
            _loosen(part)
