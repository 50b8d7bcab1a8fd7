"""What a script imports, read from its text; PyTorch is not needed for that."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["imports_of"]

#: by which a script sets what libraries look at when they are loaded
_VARIABLES = {"environ", "putenv"}


def imports_of(script: Path, known: set[Path] | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a script imports, or a module beside it that it imports.

    Parameters
    ----------
    script : Path
    known : set of Path, optional
        Files that were read already.

    Yields
    ------
    name : str
        With its packages: ``torch_xla.core.xla_model``.
    is_early : bool
        Whether the file imports it before a line that sets variables, at which it may look.
    """
    known = set() if known is None else known
    known.add(script)
    try:
        nodes = [*ast.walk(ast.parse(script.read_bytes()))]
    except (SyntaxError, ValueError, OSError):  # running it tells what is wrong
        return
    until = min((node.lineno for node in nodes if isinstance(node, ast.Attribute | ast.Name)
                 and getattr(node, "attr", getattr(node, "id", "")) in _VARIABLES),
                default=sys.maxsize)  # fmt: skip
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            yield name, node.lineno < until  # type: ignore[attr-defined]
            for beside in {name, name.partition(".")[0]}:
                path = script.parent.joinpath(*beside.split("."))
                for file in (path.with_suffix(".py"), path / "__init__.py"):
                    if file not in known and file.is_file():
                        yield from imports_of(file, known)
