"""Functions made from rows of text: one row names an instruction of both interfaces.

``instructions.toml`` has the rows; ``isa/instructions.py`` makes the current interface's functions
of them, ``beta1/isa/instructions.py`` the older one's, and ``coverage_table.py`` lists them.
"""

import linecache
import tomllib
from functools import cache
from pathlib import Path

__all__ = ["make", "names_in", "read"]

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
