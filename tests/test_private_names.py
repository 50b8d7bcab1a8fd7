"""Tests go through what is public.  Judge: the syntax tree of every test."""

import ast
import contextlib
import re
from pathlib import Path

from tests.for_each import for_rows
from tests.texts import table_beside

TESTS = Path(__file__).parent
#: Names of the compiled loops, which tests hold to their plain twins, and of other libraries.
LOOPS = {"_loops"}
TABLE = table_beside(__file__, "private_names.toml")
PROTOCOLS = TABLE["protocols"]
EXCEPTIONS = {(file, name) for file, reasons in TABLE["exceptions"].items() for name in reasons}


def is_private(name):
    return re.fullmatch(r"_[A-Za-z]\w*(?<!_)", name) is not None


class Reader(ast.NodeVisitor):
    """Collects the private names of the package that one source reaches for."""

    def __init__(self):
        self.foreign: set[str] = set()  # what was imported from elsewhere
        self.loops: set[str] = set()
        self.found: set[str] = set()

    def names(self, *names):
        self.found |= {name for name in names if is_private(name) and name not in LOOPS}

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.startswith("trainium_edu"):
                self.names(*alias.name.split("."))
            else:
                self.foreign.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node):
        if (node.module or "").split(".")[0] != "trainium_edu":
            self.foreign |= {alias.asname or alias.name for alias in node.names}
            return
        if node.module.endswith("._loops"):  # their private parts have twins too
            return
        self.names(*node.module.split("."), *(alias.name for alias in node.names))

    def visit_Attribute(self, node):
        owner = node.value
        is_own = isinstance(owner, ast.Name) and (
            owner.id in ("self", "cls") or owner.id in self.foreign or owner.id in LOOPS
        )
        if not is_own and node.attr not in PROTOCOLS:
            self.names(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node):
        """Read what setattr, getattr, __dict__.pop and their like are asked for by name."""
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in ("setattr", "getattr", "delattr", "hasattr", "setitem", "pop"):
            for argument in node.args[:2]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    name = argument.value.rsplit(".")[-1]
                    if name not in PROTOCOLS:
                        self.names(name)
        self.generic_visit(node)

    def visit_Constant(self, node):
        """Read a string that is a program of its own, for a process or a notebook."""
        if isinstance(node.value, str) and "trainium_edu" in node.value and "import " in node.value:
            try:
                self.visit(ast.parse(node.value))
            except SyntaxError:  # text, or a template
                return


def private_names(source):
    reader = Reader()
    with contextlib.suppress(SyntaxError):  # a template
        reader.visit(ast.parse(source))
    return reader.found


def test_tests_reach_for_no_private_name_of_the_package():
    found = {
        (path.relative_to(TESTS).as_posix(), name)
        for path in (*TESTS.rglob("*.py"), *TESTS.rglob("texts/*.py.txt"))
        if path != Path(__file__)
        for name in private_names(path.read_text(encoding="utf-8"))
    }
    assert found == EXCEPTIONS, "make it public, or test what it does through what is public"


@for_rows(
    "source, names", ("from trainium_edu.a import _b, c", {"_b"}),
    ("import trainium_edu.a._b", {"_b"}),
    ("from trainium_edu.a import _loops\n_loops._matmul()", set()),
    ("from trainium_edu.a._loops import _matmul", set()),
    ("from trainium_edu import a\na._b = a.c._d", {"_b", "_d"}), ("import os\nos._exit(0)", set()),
    ("class A:\n    def b(self): self._c = self._d", set()), ("patch.setattr(a, '_b', 1)", {"_b"}),
    ("patch.setattr('trainium_edu.a._b', 1)", {"_b"}), ("a.__dict__.pop('_b')", {"_b"}),
    ("A._esm, a.__name__, a._repr_png_()", set()),
    ("run('''\nfrom trainium_edu import a\na._b\n''')", {"_b"}),
)  # fmt: skip
def test_what_counts_as_private(source, names):
    assert private_names(source) == names
