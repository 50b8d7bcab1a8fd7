"""What the sources name stands in the glossary's last table, and what stands here for it exists.

Judges: the sources' own texts, read for names (below), and the package, lessons and commands.  Of
the two AWS posts only the beginnings could be read again; what they name further down (services,
images, storage, regions, ways to pay) is listed from notes and memory.
"""

import importlib
import json
import re
import tomllib
from pathlib import Path

from tests.for_each import for_each, for_rows
from tests.texts import table_beside
from trainium_edu.cli.arguments import COMMANDS
from trainium_edu.specs import SOURCES
from trainium_edu.specs.glossary import named

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
ROWS = for_each("row", named().values(), ids=lambda r: r.slug)
#: The names that each source's text has, compiled as said above.
NAMES = table_beside(__file__, "names.toml")


@for_each("source", NAMES)
def test_every_name_that_a_source_has_stands_in_a_row_that_cites_it(source):
    """Judge: the lists above."""
    cited = [row.name for row in named().values() if source in row.sources]
    for name in NAMES[source]:
        assert any(name in words for words in cited), f"{source} names {name}"


def test_instances_that_have_a_price_or_a_data_sheet_here_are_rows():
    """Judge: ``specs.INSTANCES``; its family's name is what the sources call it by."""
    names = " ".join(row.name for row in named().values()).lower()
    specs = importlib.import_module("trainium_edu.specs")
    assert all(name.partition(".")[0] in names for name in specs.INSTANCES)


@ROWS
def test_a_row_has_known_sources_and_two_sentences(row):
    assert row.sources
    assert len(set(row.sources)) == len(row.sources)
    assert set(row.sources) <= set(SOURCES) - {"derived", "emulator", "memory"}
    for sentence in (row.what, row.here):
        assert re.match(r"[A-Z0-9`\[]", sentence)
        assert sentence.endswith(".")
        assert not re.search(r"\w\. [A-Z]", sentence.replace("N. Virginia", ""))
        assert "|" not in sentence
    assert re.fullmatch(r"[a-z0-9-]+", row.slug)


def test_no_name_has_two_rows():
    names = [row.name.lower() for row in named().values()]
    assert len(set(names)) == len(names)


def exists(name) -> bool:
    """Return whether code in a row names something: an object, a command, a file or an extra."""
    command = re.fullmatch(r"python -m trainium_edu ([\w-]+)", name)
    if command:
        return command[1] in COMMANDS
    if name.startswith("make "):
        return f"\n{name[5:]}:" in (ROOT / "Makefile").read_text()
    if re.fullmatch(r"\[\w+\]", name):
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        return name[1:-1] in extras["optional-dependencies"]
    if "/" in name:
        return (ROOT / name).exists()
    package, _, rest = name.partition(".")
    if not (ROOT / "trainium_edu" / package).exists():
        return False
    found = importlib.import_module(f"trainium_edu.{package}")
    for part in rest.split(".") if rest else ():
        if not hasattr(found, part):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return False
        else:
            found = getattr(found, part)
    return True


def places(sentence) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the code and the lessons that a sentence names."""
    lessons = re.findall(r"\[[Ll]esson (\w+)\]\(([^)]+)\)", sentence)
    return re.findall(r"`([^`]+)`", sentence), lessons


@ROWS
def test_what_a_row_says_to_exist_here_exists(row):
    """Judges: the package, the commands, ``pyproject.toml`` and the folder of the lessons."""
    code, lessons = places(row.here)
    methods = {"deploy"}  # of the estimator that the same sentence names
    for name in set(code) - methods:
        assert exists(name), name
    for number, goal in lessons:
        assert goal.startswith(f"{number}_")
        assert (NOTEBOOKS / goal).is_file(), goal
    assert len(lessons) == len(re.findall(r"[Ll]esson \d", row.here))
    if not (code or lessons):
        assert re.match(r"(Not|All lessons)\b", row.here), "it says neither where nor that not"


@for_rows(
    "name", "cluster.no_such_thing", "nosuch", "python -m trainium_edu fly", "[nothing]", "a/b"
)
def test_what_does_not_exist_is_noticed(name):
    assert not exists(name)


def test_the_glossary_ends_with_the_table_and_begins_with_a_link_to_it():
    cells = json.loads((NOTEBOOKS / "glossary.ipynb").read_text(encoding="utf-8"))["cells"]
    assert cells[-1]["id"] == "named"
    shown = "".join(cells[-1]["source"])
    assert "(#cell-id=named)" in "".join(cells[0]["source"])
    for row in named().values():
        assert row.markdown in shown.splitlines()
