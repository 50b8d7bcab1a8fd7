"""Draw the package's floors and what stands inside each, from its contracts and its imports.

Usage: python .ci/floors.py [PICTURE.svg]    (``python .ci/generate.py`` draws the committed one)

Rows come from the layers in ``pyproject.toml``; where a package has none, a module stands one row
above the highest that it imports.  So imports run downwards only.  A circle, at any level, is drawn
in red and named, and so is an import that climbs; the exit code is 1 then.
"""

import ast
import functools
import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
FRONT_DOOR = "__init__"
WIDTH, MARGIN, LINE, LETTER = 860, 12, 17, 6.7  # of the picture, in its own pixels
STYLE = """
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 14px; } .about { fill: #59636e; }
.paper { fill: #ffffff; } .floor { fill: #f0f3f6; } .row { fill: #ffffff; stroke: #c5ccd3; }
.wrong { fill: #ffe3df; stroke: #c62f1d; } text.wrong { fill: #a3200f; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .about { fill: #9aa5b1; } .paper { fill: #0d1117; }
  .floor { fill: #1b222b; } .row { fill: #0d1117; stroke: #3d4752; }
  .wrong { fill: #4d1a15; stroke: #f0705f; } text.wrong { fill: #ff9b8e; }
}
"""


@dataclass(frozen=True)
class Package:
    """A package: rows of what stands directly inside, highest first, and what is wrong with it."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    circles: tuple[str, ...] = ()
    climbs: tuple[str, ...] = ()
    about: dict = field(default_factory=dict)
    folders: frozenset = frozenset()

    def is_wrong(self, names) -> bool:
        """Return whether one of the names is part of a circle or a climb."""
        return not set(names).isdisjoint(" ".join(self.circles + self.climbs).split(" "))

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


class Sheet:
    """SVG elements from top to bottom."""

    def __init__(self):
        self.parts, self.y = [], MARGIN

    def text(self, x, y, words, kind=""):
        """Put one line of text."""
        said = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{said}>{escape(words)}</text>')

    def box(self, x, y, width, height, kind, at=None):
        """Put a rounded rectangle, on top of all or at a place in the list."""
        made = (
            f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" rx="5"/>'
        )
        self.parts.insert(len(self.parts) if at is None else at, made)

    def rows(self, x, y, width, drawn: Package) -> float:
        """Put a package's rows; return where they end."""
        for names in drawn.rows:
            said = " · ".join(n + "/" * (n in drawn.folders) for n in names)
            lines = textwrap.wrap(said, int((width - 16) / LETTER))
            kind = "wrong" if drawn.is_wrong(names) else "row"
            self.box(x, y, width, LINE * len(lines) + 7, kind)
            for i, line in enumerate(lines):
                self.text(x + 8, y + LINE * (i + 1) - 1, line)
            y += LINE * len(lines) + 11
        return y

    def svg(self, title) -> str:
        """Return the picture."""
        height = self.y + MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img">\n<title>{escape(title)}</title>\n'
            f'<style>{STYLE}</style>\n<rect class="paper" width="100%" height="100%"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n"
        )  # fmt: skip


def verdict(packages) -> list[str]:
    """Return one sentence for each circle and climb, or the one that says there is none."""
    wrong = [text for p in packages for text in p.wrong]
    return wrong or [f"No circle in {len(packages)} packages, and no import climbs."]


def floors_svg(found: dict[str, Package], root="trainium_edu") -> str:
    """Draw all floors, each package with its own rows."""
    sheet = Sheet()
    for names in found[root].rows:
        top, at = sheet.y, len(sheet.parts)
        shares = [3 if n in found[root].folders else 1 for n in names]
        ends, x = [], MARGIN + 10
        for name, share in zip(names, shares, strict=True):
            width = (WIDTH - 2 * MARGIN - 10 * (len(names) + 1)) * share / sum(shares)
            about = textwrap.wrap(found[root].about[name], int(width / LETTER))
            sheet.text(x, top + 20, name, "title")
            for j, line in enumerate(about):
                sheet.text(x, top + 38 + LINE * j, line, "about")
            end = top + 32 + LINE * len(about)
            inside = found.get(f"{root}.{name}")
            ends.append(sheet.rows(x, end, width, inside) if inside else end)
            x += width + 10
        sheet.y = max(ends) + 4
        kind = "wrong" if found[root].is_wrong(names) else "floor"
        sheet.box(MARGIN, top, WIDTH - 2 * MARGIN, sheet.y - top, kind, at)
        sheet.y += 8
    return _with_verdict(sheet, found.values(), "The floors: imports run downwards only")


def package_svg(drawn: Package) -> str:
    """Draw one package."""
    sheet = Sheet()
    sheet.y = sheet.rows(MARGIN, sheet.y, WIDTH - 2 * MARGIN, drawn)
    return _with_verdict(sheet, [drawn], f"{drawn.name}: imports run downwards only")


def _with_verdict(sheet, packages, title):
    packages = list(packages)
    kind = "wrong" if any(p.wrong for p in packages) else "about"
    for sentence in verdict(packages):
        for line in textwrap.wrap(sentence, int((WIDTH - 2 * MARGIN) / LETTER)):
            sheet.y += LINE
            sheet.text(MARGIN, sheet.y, line, kind)
    return sheet.svg(title)


def main(arguments):
    """Draw, and say what is wrong."""
    found = house()
    for path in arguments:
        Path(path).write_text(floors_svg(found), encoding="utf-8")
    print("\n".join(verdict(found.values())))
    return any(p.wrong for p in found.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
