"""Names: a front door that loads each of its names when it is first needed, and the nearest name.

A package lists its public names by the module that has them; importing the package loads none of
them, and Tab after ``numerics.`` still offers all.  What a front door returns also refuses an
argument that it does not have with a sentence that names the right one (``named``).
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from importlib.util import resolve_name
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

from trainium_edu import aside

__all__ = ["late", "named", "near", "refuse_unknown"]

FrontDoor = tuple[list[str], Any, Any]


def late(package: str, homes: Mapping[str, str], modules: str = "", *, first: str = "",
         missing: Callable[[str], Any] | None = None) -> FrontDoor:  # fmt: skip
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package whose names load late.

    ``__all__ += [...]`` adds what the front door has already.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    homes : mapping of str to str
        From a module inside the package (``.other.module``: beside it) to the names that it has;
        the module itself loads by its name as well, and is not listed.
    modules : str
        Modules that are public names themselves; ``met=metrics`` is one under another name.
    first : str
        Modules to load before any name.
    missing : callable (str), optional
        Raises the error for an unknown name; without it, one that names the nearest.

    Examples
    --------
    >>> names, get, complete = late("trainium_edu.fabric", {"schedule": "Op"}, "routing")
    >>> get("Op").__name__, complete()
    ('Op', ['Op', 'routing'])
    """
    module_of = {m.partition("=")[0]: m.rpartition("=")[2] for m in modules.split()}
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    listed = sorted({*home_of, *module_of})

    @cache
    def load(module):
        return aside.load(resolve_name(f".{module}", package))

    def get(name):
        if name in module_of:
            return load(module_of[name])
        if name in home_of:
            for module in first.split():
                load(module)
            return named(getattr(load(home_of[name]), name), package)
        if name in homes:
            return load(name)
        if missing is not None:
            return missing(name)
        hint = "" if name[:1] == "_" else near(name, listed)
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")

    return listed, get, lambda: listed


def named(public, package: str = ""):
    """Return a public function or class that refuses unknown arguments with the right name.

    What checks its arguments itself (``specs.signatures``) and what takes none comes back as it
    is.  A function belongs to the package then, where pickle finds it; a class stays itself.

    Examples
    --------
    >>> named(lambda ranks: ranks)(rank=2)
    Traceback (most recent call last):
    TypeError: <lambda> has no argument 'rank'; is ranks meant?
    """
    is_class = isinstance(public, type)
    function = vars(public).get("__init__") if is_class else public
    is_checked = hasattr(function, "__wrapped__") or not isinstance(function, FunctionType)
    return public if is_checked else _named(public, function, package)


@cache
def _named(public, function, package):
    @wraps(function)
    def call(*args, **kwargs):
        __tracebackhide__ = True  # IPython and pytest show the caller's line
        refuse_unknown(function, kwargs)
        return function(*args, **kwargs)

    if public is not function:
        public.__init__ = call
        return public
    call.__module__ = package or function.__module__
    return call


def refuse_unknown(function: Callable, given: Iterable[str]) -> None:
    """Raise a TypeError for the first of the arguments' names that a function does not have."""
    for name in given:
        known = _keywords(function)
        if known and name not in known:
            hint = near(name, known) or f"; it takes {', '.join(known)}"
            owner = function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")
            raise TypeError(f"{owner} has no argument {name!r}{hint}")


@cache
def _keywords(function) -> tuple[str, ...]:
    """Return the names of a function's arguments; none if it takes any name."""
    parameters = signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return ()
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return tuple(p.name for p in parameters if p.kind in kinds and p.name not in ("self", "cls"))


def near(name: str, names: Iterable[str], start: str = "") -> str:
    """Return "; is nl.exp meant?" where one of the names is close, else an empty string.

    Examples
    --------
    >>> near("learning_rate", ["lr", "batch"]), near("ranks", ["batch"])
    ('; is lr meant?', '')
    """
    known = {other.lower(): other for other in names if other}
    initials = "".join(word[:1] for word in name.lower().split("_"))
    close = [initials] if len(initials) > 1 and initials in known else []
    close = close or get_close_matches(name.lower(), known, 1, 0.7)
    return f"; is {start}{known[close[0]]} meant?" if close else ""
