"""Whether ranks of a script can run together, as far as its text tells."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Choice", "how", "loaded_first"]

#: names and strings by which a script asks which rank it is, or starts processes of its own
ASKS = {
    "get_rank", "get_node_local_rank", "get_ordinal", "get_local_ordinal", "global_ordinal",
    "local_ordinal", "is_master_ordinal", "master_print", "master_only", "do_on_ordinals",
    "process_index", "xrt_ordinal", "RANK", "LOCAL_RANK", "GROUP_RANK", "--local_rank",
    "--local-rank", "local_rank", "is_main_process", "is_local_main_process",
    "is_world_process_zero", "spawn", "multiprocessing", "getpid", "gethostname", "urandom",
    "uuid4", "secrets", "Trainer", "Accelerator", "ZeroRedundancyOptimizer",
}  # fmt: skip
#: by which a script sets what libraries look at when they are loaded
_VARIABLES = {"environ", "putenv"}
#: libraries that take a second or more to load
_SLOW = {"timm", "transformers", "datasets", "evaluate", "torchvision", "sklearn", "pandas",
         "scipy"}  # fmt: skip
SEEDS = {"manual_seed", "set_seed", "seed_everything"}


class Choice(NamedTuple):
    """How ranks run, and why."""

    how: str
    reason: str


def how(script) -> Choice:
    """Return whether ranks of a script run together.

    Its own text is looked at, and that of modules beside it which it imports.

    Parameters
    ----------
    script : str or Path

    Returns
    -------
    Choice
        ("together", reason) or ("apart", reason).

    Examples
    --------
    >>> import tempfile
    >>> from trainium_edu import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.py")
    ...     files.write(path, "import torch; torch.manual_seed(0)")
    ...     how(path).how
    'together'
    """
    is_seeded = False
    modules: dict[str, Path | None] = {}
    for path, tree in _trees(Path(script)):
        for node, name in _named(tree):
            if name in ASKS:
                return Choice("apart", f"{path.name}:{node.lineno} mentions {name}")
            is_seeded = is_seeded or name in SEEDS
        for name in _draws(tree):
            modules.setdefault(name, None if _is_seeded(tree, name) else path)
    if not is_seeded:
        return Choice("apart", "no torch.manual_seed, so each rank draws other random numbers")
    for name, draws in modules.items():
        if draws is not None:
            return Choice("apart", f"{draws.name} draws from {name} and never seeds it")
    return Choice("together", "the script asks for no rank, and seeds its random numbers")


def loaded_first(script) -> list[str]:
    """Return libraries that a script imports, before it sets variables that they may look at.

    Parameters
    ----------
    script : str or Path

    Returns
    -------
    list of str
        Those that take long to load, with the module of theirs that is wanted.
    """
    found: dict[str, None] = {}
    for _, tree in _trees(Path(script)):
        until = min((node.lineno for node, name in _named(tree) if name in _VARIABLES),
                    default=sys.maxsize)  # fmt: skip
        for node in ast.walk(tree):
            if not isinstance(node, ast.Import | ast.ImportFrom) or node.lineno >= until:
                continue
            names = [one.name for one in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module or ""]
            found.update((name, None) for name in names if name.partition(".")[0] in _SLOW)
    return list(found)


def _trees(script: Path) -> Iterator[tuple[Path, ast.AST]]:
    """Yield a script and the modules beside it that it imports."""
    waiting, seen = [script], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue  # running it will say so
        yield path, tree
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{one.name}" if node.module else
                                              one.name for one in node.names)]  # fmt: skip
            else:
                continue
            for home in {script.parent, path.parent}:
                for name in filter(None, names):
                    place = home.joinpath(*name.split("."))
                    found = [place.with_suffix(".py"), place / "__init__.py"]
                    waiting += [one for one in found if one.is_file()]


def _named(tree) -> Iterator[tuple[Any, str]]:
    """Yield names, attributes, imported names and short strings of a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node, node.id
        elif isinstance(node, ast.Attribute):
            yield node, node.attr
        elif isinstance(node, ast.alias):
            yield from ((node, part) for part in node.name.split("."))
        elif isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _draws(tree) -> Iterator[str]:
    """Yield mentions of generators that ``torch.manual_seed`` does not seed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "random":
                yield "random"
            elif node.value.id in ("np", "numpy") and node.attr == "random":
                yield "numpy.random"
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            yield node.module


def _is_seeded(tree, name: str) -> bool:
    """Return whether a text seeds a generator: ``random.seed``, ``default_rng(0)``."""
    seeds = {"random": {"seed", "Random"}, "numpy.random": {"seed", "default_rng", "RandomState"}}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            whose = ast.unparse(node.func.value)
            if node.func.attr in seeds[name] and whose in (name, name.replace("numpy", "np")):
                return True
    return False
