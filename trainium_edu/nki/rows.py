"""Functions made from rows of text: one row names an instruction of both interfaces.

``instructions.toml`` has the instructions; ``isa/instructions.py`` makes the current interface's
functions of them, ``beta1/isa/instructions.py`` the older one's, and ``coverage_table.py`` lists
them.  ``elementwise.toml`` has the functions of the languages that ``language/rules.py`` computes.
"""

import linecache
import tomllib
from functools import cache
from pathlib import Path

__all__ = ["make", "names_in", "publish", "read"]

_HERE = Path(__file__).parent


@cache
def read(file: str) -> dict:
    """Return the rows of a file beside this one."""
    return tomllib.loads((_HERE / file).read_text(encoding="utf-8"))


def names_in(parameters: str) -> list[str]:
    """Return the names of parameters, written with spaces between.

    Examples
    --------
    >>> names_in("src * mask=None **kwargs")
    ['src', 'mask']
    """
    return [part.partition("=")[0] for part in parameters.split() if part[0] != "*"]


def make(name: str, parameters: str, says: str, body: str, scope: dict):
    """Return the function ``def name(parameters): body``, in the names of a module.

    Its source can be read like any other's (``name??`` in Jupyter), and its frames count as this
    package's.

    Parameters
    ----------
    name, parameters, says, body : str
        `says` is the docstring.
    scope : dict
        ``globals()`` of the module that the function belongs to.
    """
    source = f"def {name}({', '.join(parameters.split())}):\n    {body}\n"
    file = str(_HERE / f"{scope['__name__']}.{name}")
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    made: dict = {}
    exec(compile(source, file, "exec"), scope, made)
    made[name].__doc__ = says.strip()
    return made[name]


def publish(interface: str, kinds: str, scope: dict) -> list[str]:
    """Put the functions of ``elementwise.toml`` into a module, and return their names.

    Parameters
    ----------
    interface : {"now", "old"}
    kinds : str
        The headings of the file that count, with spaces between.
    scope : dict
        ``globals()`` of the module; its ``RULES`` computes, a ``Rules``.
    """
    names = []
    for heading in kinds.split():
        kind = read("elementwise.toml")[heading]
        signature = kind[interface]
        passed = "".join(f", {name}={name}" for name in names_in(signature))
        check = "refuse('{}', kwargs); " if "**kwargs" in signature else ""
        for name, own in kind["names"].items():
            says = own.get(interface) if isinstance(own, dict) else kind[f"{interface}_says"]
            if says:
                rule = name if hasattr(scope["RULES"], name) else kind["rule"]
                body = f"{check.format(name)}return RULES.{rule}('{name}'{passed})"
                text = says if isinstance(own, dict) else says.format(own)
                scope[name] = make(name, signature, text, body, scope)
                names.append(name)
    return names
