"""What the process that runs a submission's cells is asked: run one, look at a name, call it."""

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from trainium_edu.exercises.answers import canonical

__all__ = ["begin", "call", "keep", "look", "run"]

_KEPT: list[dict] = []  #: the names that each exercise begins with, once there are any


class _Shell(InteractiveShell):
    """IPython, as a notebook's cells know it, that shows nothing."""

    def showtraceback(self, *_, **__):
        """Show nothing, and format nothing for it."""

    def showsyntaxerror(self, *_, **__):
        """Show nothing."""

    def ask_exit(self):
        """End what called ``exit()``."""
        raise SystemExit


def _shell():
    return _Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))


def begin():
    """Forget all names but those that are kept; return whether any are."""
    _shell().reset(new_session=False)
    _shell().user_ns.update(*_KEPT)
    return bool(_KEPT)


def keep():
    """Keep the names that there are now."""
    hidden = _shell().user_ns_hidden
    _KEPT[:] = [{name: value for name, value in _shell().user_ns.items() if name not in hidden}]


def run(source):
    """Run a cell; raise what it raised."""
    _shell().run_cell(source, silent=True).raise_error()


def look(name):
    """Return the kind of what a name holds ("missing", "callable" or "value"), and the value."""
    if name not in _shell().user_ns:
        return "missing", None
    value = _shell().user_ns[name]
    if callable(value):
        return "callable", str(getattr(value, "__name__", name))
    return "value", canonical(value)


def call(name, args, kwargs):
    """Call what a name holds; return its value."""
    return canonical(_shell().user_ns[name](*args, **kwargs))
