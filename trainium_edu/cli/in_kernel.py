"""What the process that runs a submission's cells is asked: run one, look at a name, call it."""

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from trainium_edu.exercises.answers import PrintedTooMuch, canonical

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
    """Forget all names but those that are kept; say whether any are."""
    _shell().reset(new_session=False)
    _shell().user_ns.update(*_KEPT)
    return ("ready" if _KEPT else "missing",)


def keep():
    """Keep the names that there are now."""
    hidden = _shell().user_ns_hidden
    _KEPT[:] = [{name: value for name, value in _shell().user_ns.items() if name not in hidden}]
    return ("ready",)


def run(source):
    """Run a cell; return the exception that it raised in one line."""
    result = _shell().run_cell(source, silent=True)
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, PrintedTooMuch):
        raise error
    return "value", " ".join(f"{type(error).__name__}: {error}".split())[:300] if error else ""


def look(name):
    """Return what a name holds: a value, or that it can be called, or that it is missing."""
    if name not in _shell().user_ns:
        return ("missing",)
    value = _shell().user_ns[name]
    if callable(value):
        return "callable", str(getattr(value, "__name__", name))
    try:
        return "value", canonical(value)
    except Exception:
        return "unsendable", f"a {type(value).__name__}"


def call(name, args, kwargs):
    """Call what a name holds."""
    return "value", canonical(_shell().user_ns[name](*args, **kwargs))
