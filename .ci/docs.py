"""Build the documentation: pages, every floor from its docstrings, lessons with stored outputs.

Usage: python .ci/docs.py [FOLDER]    (``make docs``: build/docs)

Sources are put together beside the built pages: those of ``.github/docs``, the two guides beside
them, one page for each package that the package itself has (nothing is named by hand), and copies
of the lessons, which do not run.  Any warning fails the build.

Sphinx's autosummary was tried in place of the pages of floors.  It makes a page for each of some
370 modules, with the first line of each function and no more; a template that describes functions
there describes what a front door hands on twice, and none says in which rows a floor's modules
stand.  Those two (``home_of``, ``handed_on``, the rows) are most of what is written here.
"""

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import runpy
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
SOURCES = ROOT / ".github" / "docs"
FLOORS = runpy.run_path(str(ROOT / ".ci" / "floors.py"))
PACKAGE = "trainium_edu"

#: A Markdown link that stays inside the repository: its words, its target, its place there.
LINK = re.compile(r"(?<!!)\[((?:[^\][]|\[[^\]]*\])*)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")

#: Words of a link that are a name of the package.
NAME = re.compile(r"`([a-z]\w*(?:\.\w+)+)`")


#: A cell that answers a question: its output waits behind a click.
REVEALS = re.compile(r"\breveal\(")

#: What the documentation can be built without: modules that import it are then left out.
OPTIONAL = {"torch"}


def is_here(name: str) -> bool:
    """Return whether a module can be imported with what is installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if str(problem.name).partition(".")[0] in OPTIONAL:
            return False
        raise
    return True


# -- links ------------------------------------------------------------------------------------


def dotted(path: Path) -> str:
    """Return the module that a path of the repository holds."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def place_of(name: str) -> tuple[str, str]:
    """Return the module that defines a name like ``nki.run``, and the name there.

    Parameters
    ----------
    name : str
        Below the package; of a module, the second part is empty.

    Raises
    ------
    ValueError
        If there is no such name.
    """
    module, parts = PACKAGE, name.split(".")
    while parts and importlib.util.find_spec(f"{module}.{parts[0]}"):
        module = f"{module}.{parts.pop(0)}"
    found = importlib.import_module(module)
    if not parts:
        return module, ""
    if len(parts) > 1 or not hasattr(found, parts[0]):
        raise ValueError(f"{name}: {module} has no {'.'.join(parts)}; write a name that it has")
    return home_of(getattr(found, parts[0]), parts[0], module) or module, parts[0]


def relinked(text: str, origin: Path, pages: dict[Path, str]) -> str:
    """Return Markdown whose links lead to built pages.

    A link to a module leads to its place on the page of its floor, one to a cell to that cell, one
    to another page there; what the documentation does not hold becomes its words.

    Parameters
    ----------
    text : str
    origin : Path
        Where the text stands in the repository.
    pages : dict
        Where the sources of pages stand in the repository, and their names here.
    """

    def link(found):
        words, target, mark = found[1], found[2], found[3] or ""
        path = Path(os.path.normpath(origin.parent / target)) if target else origin
        if mark.startswith("#cell-id="):
            return f"[{words}](#{label(path, mark.removeprefix('#cell-id='))})"
        if mark.startswith("#light="):  # lights a part of a picture that a page only stores
            return words
        if path in pages:
            return f"[{words}](/{pages[path]}{mark})"
        if path.parts[:1] == (PACKAGE,) and path.suffix in ("", ".py"):
            where = dotted(path)
            if name := NAME.fullmatch(words):
                where, last = place_of(name[1])
                if callable(getattr(sys.modules[where], last, None)):  # data may have no entry
                    where = f"{where}.{last}"
            elif not is_here(where):
                return words
            return f"[{words}](#{where})"
        return words if target else found[0]

    return LINK.sub(link, text)


def label(path: Path, cell: str) -> str:
    """Return the name of a cell among all pages."""
    return f"{path.stem.replace('_', '-')}-{cell}"


# -- lessons ----------------------------------------------------------------------------------


def lesson(path: Path, pages) -> dict:
    """Return a lesson as a page: stored outputs, code and answers folded, cells to link to."""
    book = json.loads((ROOT / path).read_text(encoding="utf-8"))
    cells = []
    for cell in book["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = f"({label(path, cell['id'])})=\n{relinked(text, path, pages)}"
        elif cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", ()), "hide-input"]
        elif REVEALS.search(text):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", ()), "hide-output"]
        cells.append(cell | {"source": text})
    return book | {"cells": cells}


# -- floors -----------------------------------------------------------------------------------


def modules_of(name: str) -> list[str]:
    """Return the public modules that stand directly inside a package."""
    inside = pkgutil.iter_modules(importlib.import_module(name).__path__)
    found = sorted(f"{name}.{m.name}" for m in inside if not m.name.startswith("_"))
    return [one for one in found if is_here(one)]


def is_package(name: str) -> bool:
    """Return whether a module is a folder."""
    return hasattr(importlib.import_module(name), "__path__")


def public(name: str) -> dict:
    """Return what a module offers, by name; what loads late is loaded."""
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            n
            for n, x in vars(module).items()
            if not n.startswith("_") and getattr(x, "__module__", None) == name
        ]
    found = {}
    for one in names:
        try:
            found[one] = getattr(module, one)
        except ModuleNotFoundError as problem:
            if str(problem.name).partition(".")[0] not in OPTIONAL:
                raise
    return found


def home_of(thing, name: str, module: str) -> str | None:
    """Return the module on whose page a name is described, or None for a module."""
    if inspect.ismodule(thing):
        return None
    home = getattr(inspect.unwrap(thing), "__module__", module) or module
    if isinstance(thing, type) or callable(thing):
        own = vars(sys.modules.get(home, object)).get(name)
        there = inspect.unwrap(own) is inspect.unwrap(thing)
        return home if there and home.startswith(PACKAGE) else module
    return next((m for m in (module, *_loaded_below(module)) if name in _assigned(m)), module)


def _loaded_below(module):
    return sorted(m for m in sys.modules if m.startswith(f"{module}."))


@functools.cache
def _assigned(module):
    tree = ast.parse(Path(inspect.getsourcefile(sys.modules[module])).read_text(encoding="utf-8"))
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def heading(words: str, line: str) -> str:
    return f"{words}\n{line * len(words)}\n\n"


def described(module: str) -> str:
    """Return the directive that describes a module and what is at home there."""
    own = [n for n, thing in public(module).items() if home_of(thing, n, module) == module]
    members = f"   :members: {', '.join(own)}\n" if own else ""
    return f".. automodule:: {module}\n{members}\n"


def handed_on(module: str) -> str:
    """Return the names that a front door has from elsewhere, linked; data to their module."""
    links = []
    for name, thing in sorted(public(module).items(), key=lambda item: item[0].lower()):
        home = home_of(thing, name, module)
        if home not in (None, module):
            target = (
                f"obj:`{name} <{home}.{name}>`" if callable(thing) else f"mod:`{name} <{home}>`"
            )
            links.append(f":py:{target}")
    return f"**Names at this front door:** {', '.join(links)}.\n\n" if links else ""


def floor_pages(name: str, drawn: dict, folder: Path) -> list[str]:
    """Write a package's page, and one for each folder inside; return their names.

    Parameters
    ----------
    name : str
        Dotted.
    drawn : dict
        Every package with its rows, by dotted name.
    folder : Path
        Where pages go.
    """
    short = name.removeprefix(f"{PACKAGE}.")
    text = heading(short, "=") + described(name)
    written = [short]
    if is_package(name):
        inside = modules_of(name)
        rooms = [m for m in inside if is_package(m)]
        text += handed_on(name)
        if name in drawn:  # others hold no modules
            rows = FLOORS["rows_text"](drawn[name], "\n| ")
            text += f"Inside, from the top down; imports run downwards only:\n\n| {rows}\n\n"
        pages = [page for room in rooms for page in floor_pages(room, drawn, folder)]
        if pages:
            direct = [room.removeprefix(f"{PACKAGE}.") for room in rooms]
            text += (
                ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {d}\n" for d in direct) + "\n"
            )
        for module in inside:
            if module not in rooms:
                text += heading(module.removeprefix(f"{PACKAGE}."), "-") + described(module)
        written += pages
    (folder / f"{short}.rst").write_text(text, encoding="utf-8")
    return written


# -- all of it --------------------------------------------------------------------------------


def gather(folder: Path) -> None:
    """Write the sources of all pages to a folder, which is made anew.

    Parameters
    ----------
    folder : Path
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder)
    lessons = sorted(p.relative_to(ROOT) for p in (ROOT / "notebooks").glob("*.ipynb"))
    pages = {p.relative_to(ROOT): p.name for p in SOURCES.glob("*.md")}
    pages |= {Path(".github", n): n for n in ("CHANGELOG.md", "CONTRIBUTING.md", "INSTRUCTORS.md")}
    pages |= {path: f"lessons/{path.name}" for path in lessons}
    for path, name in pages.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        if path.suffix == ".ipynb":
            text = json.dumps(lesson(path, pages))
        else:
            text = relinked((ROOT / path).read_text(encoding="utf-8"), path, pages)
        target.write_text(text, encoding="utf-8")
    (folder / "floors").mkdir()
    drawn = FLOORS["house"]()
    floors = [f"{PACKAGE}.{n}" for row in drawn[PACKAGE].rows for n in row if n != "__main__"]
    for name in floors:
        floor_pages(name, drawn, folder / "floors")
    short = [name.removeprefix(f"{PACKAGE}.") for name in floors]
    text = heading("The floors", "=") + "From the top down:\n\n"
    about = {n: re.sub(r"([\\*_`|])", r"\\\1", drawn[PACKAGE].about[n]) for n in short}
    text += "".join(f"* :doc:`{n}`: {about[n]}\n" for n in short)
    text += "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {n}\n" for n in short)
    (folder / "floors" / "index.rst").write_text(text, encoding="utf-8")


def main(arguments):
    """Build."""
    from sphinx.cmd.build import main as build

    target = Path(arguments[0] if arguments else ROOT / "build" / "docs").resolve()
    sources = target.with_name(f"{target.name}-sources")
    gather(sources)
    return build(
        [
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            "-d",
            f"{target}-doctrees",
            str(sources),
            str(target),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
