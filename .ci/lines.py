"""Count code lines (no docstrings, comments, blanks) per package, of tests, JavaScript, CSS, C++.

Statements that the formatter has to leave alone are counted, too.

A gentle ratchet, not a golf score: the exit code is 1 when a package is over its budget.
"""

import ast
import re
import sys
from pathlib import Path

BUDGETS = {
    "specs": 1091,
    "numerics": 2209,
    "timeline.py": 55,
    "settings.py": 122,
    "aside.py": 59,
    "files.py": 52,
    "names.py": 69,
    "sealed.py": 73,
    "neuroncore": 12019,
    "nki": 8055,
    "xla": 5922,
    "fabric": 3160,
    "training": 4559,
    "cluster": 3043,
    "torch": 6220,
    "live.py": 284,
    "viz": 2920,
    "tools": 995,
    "widgets": 3057,
    "exercises": 5689,
    "cli": 2477,
    "doctor.py": 120,
    "tests": 49831,
}
#: Of what stands in the package beside Python: endings, budget.
OTHERS = {
    "JavaScript": ((".js",), 8168),
    "CSS": ((".css",), 2378),
    "C++": ((".cpp", ".h", ".hpp"), 1749),
}

#: Statements that are kept from the formatter, in which lines could hide.
MARK, MARKS = "# fmt: " + "skip", 1872


def code_lines(path):
    """Return the number of lines that carry code."""
    text = path.read_text(encoding="utf-8")
    rows = ["", *text.splitlines()]
    found = {k for k, row in enumerate(rows) if row.strip() and not row.lstrip().startswith("#")}
    docs = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                docs.update(range(first.lineno, first.end_lineno + 1))
        is_text = isinstance(node, ast.Constant | ast.JoinedStr)
        if is_text and ('"""' in rows[node.lineno] or "'''" in rows[node.lineno]):
            found.update(range(node.lineno, node.end_lineno + 1))
    return len(found - docs)


def javascript_lines(path):
    """Return the number of lines that carry JavaScript, CSS or C++, with or without a comment."""
    text = re.sub(
        r"^ */\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("//") for line in text.split("\n")
    )


def counted():
    """Return what is counted, by name: code lines, and the budget."""
    found = {}
    for name, budget in BUDGETS.items():
        place = Path("tests" if name == "tests" else f"trainium_edu/{name}")
        files = [place] if place.suffix else sorted(place.rglob("*.py"))
        if place.exists():
            found[name] = sum(code_lines(f) for f in files), budget
    for name, (endings, budget) in OTHERS.items():
        files = [f for end in endings for f in Path("trainium_edu").rglob(f"*{end}")]
        found[name] = sum(map(javascript_lines, files)), budget
    files = [f for top in ("trainium_edu", "tests", ".ci") for f in Path(top).rglob("*.py")]
    found[MARK] = sum(f.read_text(encoding="utf-8").count(MARK) for f in files), MARKS
    return found


def main():
    over = False
    for name, (total, budget) in counted().items():
        over |= total > budget
        print(
            f"{name:<14} {total:>5} of {budget:>5}" + ("   over budget" if total > budget else "")
        )
    sys.exit(over)


if __name__ == "__main__":
    main()
