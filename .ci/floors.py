"""Find the package's floors and what stands inside each, from its contracts and its imports.

Usage: python .ci/floors.py    (``python .ci/generate.py`` writes the table of the architecture)

Rows come from the layers in ``pyproject.toml``; where a package has none, a module stands one row
above the highest that it imports.  So imports run downwards only.  A circle, at any level, is
named, and so is an import that climbs; the exit code is 1 then (``lint-imports`` sees only packages
with a contract).  The floors are a table, not a Mermaid drawing: Mermaid needs a script from
another site, and the built pages are also read offline.
"""

import ast
import functools
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
FRONT_DOOR = "__init__"


@dataclass(frozen=True)
class Package:
    """A package: rows of what stands directly inside, highest first, and what is wrong with it."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    circles: tuple[str, ...] = ()
    climbs: tuple[str, ...] = ()
    about: dict = field(default_factory=dict)
    folders: frozenset = frozenset()

    @property
    def wrong(self) -> tuple[str, ...]:
        """One sentence for each circle and each import that climbs."""
        circles = (f"{self.name}: a circle, {text}" for text in self.circles)
        return (*circles, *(f"{self.name}: an import climbs, {text}" for text in self.climbs))


def siblings(modules, imports) -> dict[str, nx.DiGraph]:
    """Return, for each package, who imports whom among what stands directly inside it.

    Parameters
    ----------
    modules : iterable of str
    imports : iterable of (str, str)
        Importer and imported, dotted names.
    """
    modules = set(modules)
    parents = {m.rpartition(".")[0] for m in modules} - {""}
    found = {name: nx.DiGraph() for name in sorted(parents)}
    for name in sorted(modules):
        parent, _, last = name.rpartition(".")
        if parent:
            found[parent].add_node(last)
    for importer, imported in imports:
        parts = list(zip(importer.split("."), imported.split("."), strict=False))
        same = next((i for i, (a, b) in enumerate(parts) if a != b), len(parts))
        ends = [name.split(".")[same:] for name in (importer, imported)]
        one, two = (end[0] if end else FRONT_DOOR for end in ends)
        found[".".join(importer.split(".")[:same])].add_edge(one, two)
    return found


def package(name, graph, layers=None, about=None, folders=frozenset()) -> Package:
    """Return one package with its rows, its circles and what climbs.

    Parameters
    ----------
    name : str
    graph : networkx.DiGraph
        Who imports whom inside it.
    layers : sequence of sequences of str, optional
        As its contract states them, highest first.
    about : dict, optional
        One sentence for each name.
    folders : set of str, optional
        Which of them are packages themselves.
    """
    rings = [ring for ring in nx.strongly_connected_components(graph) if len(ring) > 1]
    circles = []
    for ring in sorted(rings, key=min):
        in_order = nx.DiGraph(sorted(graph.subgraph(ring).edges))
        edges = nx.find_cycle(in_order, min(ring))
        circles.append(" → ".join([a for a, _ in edges] + [edges[-1][1]]))
    inside = set(graph) - {FRONT_DOOR}
    if layers is None:
        whole = nx.condensation(graph)
        height = {}
        for ring in reversed(list(nx.topological_sort(whole))):
            height[ring] = 1 + max((height[below] for below in whole[ring]), default=-1)
        row_of = {n: height[whole.graph["mapping"][n]] for n in inside}
    else:
        levels = enumerate(reversed(list(layers)))
        row_of = {n: level for level, names in levels for n in names if n in inside}
    arrows = [(a, b) for a, b in graph.edges if a in row_of and b in row_of]
    climbs = [f"{a} → {b}" for a, b in sorted(arrows) if row_of[a] < row_of[b]]
    rows = [tuple(sorted(n for n in row_of if row_of[n] == r)) for r in set(row_of.values())]
    unplaced = tuple(sorted(inside - set(row_of)))  # no contract names them
    rows = (*rows[::-1], *([unplaced] if unplaced else []))
    return Package(name, rows, tuple(circles), tuple(climbs), about or {}, frozenset(folders))


def stated_layers(pyproject=ROOT / "pyproject.toml") -> dict[str, list[list[str]]]:
    """Return {package: layers} of the import linter's contracts."""
    tool = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]
    found = {}
    for contract in tool["contracts"]:
        if contract["type"] == "layers":
            layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
            found |= dict.fromkeys(contract["containers"], layers)
    return found


def first_sentence(module) -> str:
    """Return the first sentence of a module's docstring, read without importing it."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=[.?])\s", " ".join(text.split("\n\n")[0].split()))[0].replace("``", "")


@functools.cache
def house(root="trainium_edu") -> dict[str, Package]:
    """Return every package of the project by its dotted name."""
    graph = grimp.build_graph(root, cache_dir=None)
    imports = [
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    ]
    layers, found = stated_layers(), {}
    inside = siblings(graph.modules, imports)
    for name, within in inside.items():
        names = set(within) - {FRONT_DOOR}
        about = {n: first_sentence(f"{name}.{n}") for n in names}
        folders = {n for n in names if f"{name}.{n}" in inside}
        found[name] = package(name, within, layers.get(name), about, folders)
    return found


def verdict(packages) -> list[str]:
    """Return one sentence for each circle and climb, or the one that says there is none."""
    wrong = [text for p in packages for text in p.wrong]
    return wrong or [f"No circle in {len(packages)} packages, and no import climbs."]


def rows_text(drawn: Package, between: str) -> str:
    """Return what stands inside a package, highest row first; a folder ends with a slash."""
    return between.join(
        " · ".join(f"`{n}{'/' * (n in drawn.folders)}`" for n in names) for names in drawn.rows
    )


def floors_table(found: dict[str, Package], root="trainium_edu"):
    """Yield the lines of a Markdown table: every floor from the top down, with its rows."""
    yield "| floor | what it is for | inside, from the top down |"
    yield "| --- | --- | --- |"
    for names in found[root].rows:
        for name in names:
            inside = found.get(f"{root}.{name}")
            rows = rows_text(inside, "<br>") if inside else ""
            others = [n for n in names if n != name]
            name_and_beside = "<br>".join([f"**`{name}`**", *(f"beside `{n}`" for n in others)])
            yield f"| {name_and_beside} | {found[root].about[name]} | {rows} |"


def main():
    """Say what is wrong."""
    found = house()
    print("\n".join(verdict(found.values())))
    return any(p.wrong for p in found.values())


if __name__ == "__main__":
    sys.exit(main())
